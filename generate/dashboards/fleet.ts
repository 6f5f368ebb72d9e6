import { dashboardText } from "./dashboard.ts";
import { fleetErrors } from "./fleet-errors.ts";
import { fleetOccupancy, fleetWeeks } from "./fleet-occupancy.ts";
import { uids } from "./links.ts";
import { lines, stat, timeline } from "./panels.ts";
import { ofName, ofTarget, rate, sandboxes, series, servers, targetsUp } from "./promql.ts";
import { unwell, wellness } from "./colours.ts";
import type { Row } from "./dashboard.ts";
import { fleetVariables } from "./variables.ts";

const total = (...matchers: readonly string[]): string => `sum(${servers(ofName, ...matchers)})`;
const unobserved = series("sandbox_unobserved_seconds_total", ofTarget);

const now: Row = {
  title: "Now",
  panels: [
    stat("Servers", "short", 3)
      .about("Listed servers in any status. Servers of targets that are down are not counted.")
      .atEnd(total(), "servers"),
    stat("Sandboxes", "short", 3)
      .about("Listed sandboxes in any status. Sandboxes of targets that are down are not counted.")
      .atEnd(`sum(${sandboxes(ofTarget)})`, "sandboxes"),
    stat("Servers in error", "short", 3)
      .about("Number of servers in error.")
      .atEnd(total('status="error"'), "in error")
      .as({ limits: [[1, "red"]] }),
    stat("Sandboxes in error", "short", 3)
      .about(
        "Number of sandboxes in error, by their own status or, where they state none, by that of their servers.",
      )
      .atEnd(`sum(${sandboxes(ofTarget, 'status="error"')})`, "in error")
      .as({ limits: [[1, "red"]] }),
    stat("Occupied", "percentunit", 3)
      .about("The share of servers with a known status that are occupied.")
      .atEnd(`${total('status="occupied"')}\n/ (${total('status!="unknown"')} > 0)`, "occupied")
      .as({ limits: [[0.9, unwell]] }),
    stat("Targets down", "short", 3)
      .about("Targets whose last poll failed. Their servers are not included in the other numbers.")
      .atEnd(`sum(${targetsUp(ofTarget)} == bool 0)`, "down")
      .as({ limits: [[1, unwell]] }),
    stat("Unobserved", "percentunit", 3)
      .about("The share of the time range that was unobserved, averaged over targets.")
      .atEnd(`avg(sum by (region, key) (rate(${unobserved}[$__range])))`, "unobserved")
      .as({ limits: [[0.01, unwell]] }),
    stat("Firing incidents", "short", 3)
      .about("Incidents of sandwatch's rules, of all regions, keys and names.")
      .atEnd('sum(sandwatch_incidents{state!="pending"})', "firing")
      .as({ limits: [[1, "red"]] }),
  ],
};

const unobservedTime: Row = {
  title: "Unobserved time",
  panels: [
    timeline("Targets", "short", 12)
      .about(
        "Whether the last poll of each target succeeded: at most fifty targets, those that were down first.",
      )
      .over(`bottomk(50, ${targetsUp(ofTarget)})`, "{{region}} {{key}}")
      .as({ mapping: wellness("up", "down") }),
    lines("Unobserved time by target", "percentunit", 12)
      .about(
        "The share of unobserved time of the twenty worst targets. Unobserved time counts for no status and no occupancy.",
      )
      .every("2m")
      .over(`topk(20, sum by (region, key) (${rate(unobserved)}))`, "{{region}} {{key}}")
      .as({ share: true }),
  ],
};

export function fleet(): string {
  return dashboardText({
    uid: uids.fleet,
    title: "sandwatch: fleet",
    description: "All monitored sandboxes and servers: errors, occupancy and unobserved time.",
    since: "24h",
    refresh: "1m",
    variables: fleetVariables,
    rows: [now, fleetErrors, fleetOccupancy, fleetWeeks, unobservedTime],
  });
}
