import { wellness } from "./colours.ts";
import { dashboardText } from "./dashboard.ts";
import type { Row } from "./dashboard.ts";
import { uids } from "./links.ts";
import { lines, stat, timeline } from "./panels.ts";
import { ofInstance, series, once } from "./promql.ts";
import { configuration, eventLoopAndMemory, processes, store } from "./sandwatch-process.ts";
import { deliveries, ofReceivers } from "./sandwatch-deliveries.ts";
import { answers, polls } from "./sandwatch-polls.ts";
import { sandwatchVariables } from "./variables.ts";

const up = wellness("up", "down");
const started = `max(${series("process_start_time_seconds", ofInstance)})`;

const now: Row = {
  title: "Now",
  panels: [
    stat("Scraped", "short", 3)
      .about("Whether the last scrape succeeded; of several instances, the worst.")
      .atEnd(`min(${series("up", ofInstance)})`, "up")
      .as({ mapping: up, none: "no such target" }),
    stat("Version", "none", 4)
      .about("The running version, and its Node.js.")
      .atEnd(series("sandwatch_build_info", ofInstance), "{{version}} on {{node_version}}")
      .as({ asName: true }),
    stat("Running for", "s", 3)
      .about("Time since the process started; of several instances, the latest.")
      .atEnd(`time() - ${started}`, "running for"),
    stat("Targets up", "percentunit", 3)
      .about("The share of all targets whose last poll succeeded.")
      .atEnd(
        `avg(${once(series("sandwatch_target_up", ofInstance), "job", "region", "key")})`,
        "seen",
      ),
    stat("Pending", "short", 3)
      .about("Notifications that wait for delivery.")
      .atEnd(`sum(${ofReceivers("sandwatch_notifications_pending")})`, "waiting"),
    stat("Dead letters", "short", 3)
      .about("Dead letters. They are kept until they are replayed or discarded.")
      .atEnd(`sum(${ofReceivers("sandwatch_notifications_dead")})`, "dead")
      .as({ limits: [[1, "red"]] }),
    stat("Configuration", "short", 5)
      .about("Whether it was valid when it was last read. If not, the previous one is in use.")
      .atEnd(`min(${series("sandwatch_config_last_reload_successful", ofInstance)})`, "reload")
      .as({ mapping: wellness("in use", "refused") }),
    timeline("Scraped", "short", 8)
      .about("Whether scrapes succeeded. No band: it was no target.")
      .high(5)
      .over(`min by (instance) (${series("up", ofInstance)})`, "{{instance}}")
      .as({ mapping: up }),
    lines("Incidents", "short", 8)
      .about("Open incidents of each rule, by state. No line: none is open.")
      .high(5)
      .over(
        `sum by (rule, state) (${series("sandwatch_incidents", ofInstance)}) > 0`,
        "{{rule}} {{state}}",
      ),
    lines("Silences and maintenance", "short", 8)
      .about("Silences in force and to come, and the open maintenance windows.")
      .high(5)
      .over(`sum by (state) (${series("sandwatch_silences", ofInstance)})`, "silences {{state}}")
      .over(
        `max by (name) (${series("sandwatch_maintenance_active", ofInstance)}) == 1`,
        "{{name}} open",
      ),
  ],
};

export function sandwatch(): string {
  return dashboardText({
    uid: uids.sandwatch,
    title: "sandwatch: its own health",
    description: "Polls, notifications, store and process of sandwatch.",
    since: "6h",
    refresh: "1m",
    variables: sandwatchVariables,
    rows: [now, polls, deliveries, eventLoopAndMemory, store, processes, configuration, answers],
  });
}
