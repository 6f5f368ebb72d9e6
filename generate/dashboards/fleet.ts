import { dashboardText } from "./dashboard.ts";
import { fleetErrors } from "./fleet-errors.ts";
import { fleetOccupancy, fleetWeeks } from "./fleet-occupancy.ts";
import { uids } from "./links.ts";
import { lines, stat, timeline } from "./panels.ts";
import { ofName, ofTarget, rate, sandboxes, series, servers, targetsUp } from "./promql.ts";
import { atEnd, overTime } from "./queries.ts";
import { unwell, wellnessMapping } from "./colours.ts";
import type { Row } from "./dashboard.ts";
import { fleetVariables } from "./variables.ts";

export function fleet(): string {
  return dashboardText({
    uid: uids.fleet,
    title: "sandwatch: fleet",
    description: "All monitored sandboxes and servers: errors, occupancy and unobserved time.",
    since: "24h",
    refresh: "1m",
    variables: fleetVariables,
    rows: [now(), fleetErrors(), fleetOccupancy(), fleetWeeks(), unobservedRow()],
  });
}

function now(): Row {
  const total = (...matchers: readonly string[]): string => `sum(${servers(ofName, ...matchers)})`;
  return {
    title: "Now",
    panels: [
      stat({
        title: "Servers",
        description:
          "Listed servers in any status. Servers of targets that are down are not counted.",
        unit: "short",
        width: 3,
        queries: [atEnd(total(), "servers")],
      }),
      stat({
        title: "Sandboxes",
        description:
          "Listed sandboxes in any status. Sandboxes of targets that are down are not counted.",
        unit: "short",
        width: 3,
        queries: [atEnd(`sum(${sandboxes(ofTarget)})`, "sandboxes")],
      }),
      stat(
        {
          title: "Servers in error",
          description: "Number of servers in error.",
          unit: "short",
          width: 3,
          queries: [atEnd(total('status="error"'), "in error")],
        },
        { limits: [[1, "red"]] },
      ),
      stat(
        {
          title: "Sandboxes in error",
          description:
            "Number of sandboxes in error, by their own status or, where they state none, by that of their servers.",
          unit: "short",
          width: 3,
          queries: [atEnd(`sum(${sandboxes(ofTarget, 'status="error"')})`, "in error")],
        },
        { limits: [[1, "red"]] },
      ),
      stat(
        {
          title: "Occupied",
          description: "The share of servers with a known status that are occupied.",
          unit: "percentunit",
          width: 3,
          queries: [
            atEnd(
              `${total('status="occupied"')}\n/ (${total('status!="unknown"')} > 0)`,
              "occupied",
            ),
          ],
        },
        { limits: [[0.9, unwell]] },
      ),
      stat(
        {
          title: "Targets down",
          description:
            "Targets whose last poll failed. Their servers are not included in the other numbers.",
          unit: "short",
          width: 3,
          queries: [atEnd(`sum(${targetsUp(ofTarget)} == bool 0)`, "down")],
        },
        { limits: [[1, unwell]] },
      ),
      stat(
        {
          title: "Unobserved",
          description: "The share of the time range that was unobserved, averaged over targets.",
          unit: "percentunit",
          width: 3,
          queries: [
            atEnd(
              `avg(sum by (region, key) (rate(${series("sandbox_unobserved_seconds_total", ofTarget)}[$__range])))`,
              "unobserved",
            ),
          ],
        },
        { limits: [[0.01, unwell]] },
      ),
      stat(
        {
          title: "Firing incidents",
          description: "Incidents of sandwatch's rules, of all regions, keys and names.",
          unit: "short",
          width: 3,
          queries: [atEnd('sum(sandwatch_incidents{state!="pending"})', "firing")],
        },
        { limits: [[1, "red"]] },
      ),
    ],
  };
}

function unobservedRow(): Row {
  return {
    title: "Unobserved time",
    panels: [
      timeline(
        {
          title: "Targets",
          description:
            "Whether the last poll of each target succeeded: at most fifty targets, those that were down first.",
          unit: "short",
          width: 12,
          queries: [overTime(`bottomk(50, ${targetsUp(ofTarget)})`, "{{region}} {{key}}")],
        },
        { mapping: wellnessMapping({ well: "up", unwell: "down" }) },
      ),
      lines(
        {
          title: "Unobserved time by target",
          description:
            "The share of unobserved time of the twenty worst targets. Unobserved time counts for no status and no occupancy.",
          unit: "percentunit",
          width: 12,
          interval: "2m",
          queries: [
            overTime(
              `topk(20, sum by (region, key) (${rate(series("sandbox_unobserved_seconds_total", ofTarget))}))`,
              "{{region}} {{key}}",
            ),
          ],
        },
        { share: true },
      ),
    ],
  };
}
