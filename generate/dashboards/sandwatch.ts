import { wellnessMapping } from "./colours.ts";
import { dashboardText } from "./dashboard.ts";
import type { Row } from "./dashboard.ts";
import { uids } from "./links.ts";
import { lines, stat, timeline } from "./panels.ts";
import { ofInstance, series, once } from "./promql.ts";
import { atEnd, overTime } from "./queries.ts";
import { configuration, eventLoopAndMemory, processes, store } from "./sandwatch-process.ts";
import { deliveries, ofReceivers } from "./sandwatch-deliveries.ts";
import { answers, polls } from "./sandwatch-polls.ts";
import { sandwatchVariables } from "./variables.ts";

export function sandwatch(): string {
  return dashboardText({
    uid: uids.sandwatch,
    title: "sandwatch: its own health",
    description: "Polls, notifications, store and process of sandwatch.",
    since: "6h",
    refresh: "1m",
    variables: sandwatchVariables,
    rows: [
      now(),
      polls(),
      deliveries(),
      eventLoopAndMemory(),
      store(),
      processes(),
      configuration(),
      answers(),
    ],
  });
}

function now(): Row {
  return {
    title: "Now",
    panels: [
      stat(
        {
          title: "Scraped",
          description: "Whether the last scrape succeeded; of several instances, the worst.",
          unit: "short",
          width: 3,
          queries: [atEnd(`min(${series("up", ofInstance)})`, "up")],
        },
        { mapping: wellnessMapping({ well: "up", unwell: "down" }), none: "no such target" },
      ),
      stat(
        {
          title: "Version",
          description: "The running version, and its Node.js.",
          unit: "none",
          width: 4,
          queries: [
            atEnd(series("sandwatch_build_info", ofInstance), "{{version}} on {{node_version}}"),
          ],
        },
        { asName: true },
      ),
      stat({
        title: "Running for",
        description: "Time since the process started; of several instances, the latest.",
        unit: "s",
        width: 3,
        queries: [
          atEnd(`time() - max(${series("process_start_time_seconds", ofInstance)})`, "running for"),
        ],
      }),
      stat({
        title: "Targets up",
        description: "The share of all targets whose last poll succeeded.",
        unit: "percentunit",
        width: 3,
        queries: [
          atEnd(
            `avg(${once(series("sandwatch_target_up", ofInstance), "job", "region", "key")})`,
            "seen",
          ),
        ],
      }),
      stat({
        title: "Pending",
        description: "Notifications that wait for delivery.",
        unit: "short",
        width: 3,
        queries: [atEnd(`sum(${ofReceivers("sandwatch_notifications_pending")})`, "waiting")],
      }),
      stat(
        {
          title: "Dead letters",
          description: "Dead letters. They are kept until they are replayed or discarded.",
          unit: "short",
          width: 3,
          queries: [atEnd(`sum(${ofReceivers("sandwatch_notifications_dead")})`, "dead")],
        },
        { limits: [[1, "red"]] },
      ),
      stat(
        {
          title: "Configuration",
          description:
            "Whether it was valid when it was last read. If not, the previous one is in use.",
          unit: "short",
          width: 5,
          queries: [
            atEnd(
              `min(${series("sandwatch_config_last_reload_successful", ofInstance)})`,
              "reload",
            ),
          ],
        },
        { mapping: wellnessMapping({ well: "in use", unwell: "refused" }) },
      ),
      timeline(
        {
          title: "Scraped",
          description: "Whether scrapes succeeded. No band: it was no target.",
          unit: "short",
          width: 8,
          height: 5,
          queries: [overTime(`min by (instance) (${series("up", ofInstance)})`, "{{instance}}")],
        },
        { mapping: wellnessMapping({ well: "up", unwell: "down" }) },
      ),
      lines({
        title: "Incidents",
        description: "Open incidents of each rule, by state. No line: none is open.",
        unit: "short",
        width: 8,
        height: 5,
        queries: [
          overTime(
            `sum by (rule, state) (${series("sandwatch_incidents", ofInstance)}) > 0`,
            "{{rule}} {{state}}",
          ),
        ],
      }),
      lines({
        title: "Silences and maintenance",
        description: "Silences in force and to come, and the open maintenance windows.",
        unit: "short",
        width: 8,
        height: 5,
        queries: [
          overTime(
            `sum by (state) (${series("sandwatch_silences", ofInstance)})`,
            "silences {{state}}",
          ),
          overTime(
            `max by (name) (${series("sandwatch_maintenance_active", ofInstance)}) == 1`,
            "{{name}} open",
          ),
        ],
      }),
    ],
  };
}
