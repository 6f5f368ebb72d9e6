import type { Row } from "./dashboard.ts";
import { unwell } from "./colours.ts";
import { bars, histogram, lines, shares } from "./panels.ts";
import { increase, named, occupancy, occupancyOfNames } from "./promql.ts";
import { occupancyOfSandboxes, ofName, ofTarget } from "./promql.ts";
import { sandboxes, series, servers } from "./promql.ts";
import { table } from "./tables.ts";

const shareOfTime =
  "The share of their time that servers were occupied, of the time in which their status was seen and known.";

/** Polls that are a minute apart count at every point. */
const occupied = (title: string, expr: string, legend: string, description = shareOfTime) =>
  lines(title, "percentunit", 12)
    .about(description)
    .every("2m")
    .over(expr, legend)
    .as({ share: true });

export const fleetOccupancy: Row = {
  title: "Occupancy",
  panels: [
    lines("Servers by status", "short", 12)
      .about("Number of servers in each status. Servers of targets that are down are not counted.")
      .over(`sum by (status) (${servers(ofName)})`, "{{status}}")
      .as({ byStatus: true, stacked: true }),
    lines("Sandboxes by status", "short", 12)
      .about(
        "Number of sandboxes in each status. Sandboxes of targets that are down are not counted.",
      )
      .over(`sum by (status) (${sandboxes(ofTarget)})`, "{{status}}")
      .as({ byStatus: true, stacked: true }),
    occupied("Occupancy by region", occupancy("region"), "{{region}}"),
    occupied("Occupancy by key", occupancy("key"), "{{key}}"),
    bars("Occupancy by server name", "percentunit", 12)
      .about(`${shareOfTime} Of the whole time range: the twelve busiest names.`)
      .atEnd(`sort_desc(topk(12, ${named(occupancyOfNames())}))`, "{{server_name}}")
      .as({ share: true, limits: [[0.9, unwell]], none: "nothing observed" }),
    occupied(
      "Occupancy of sandboxes by key",
      occupancyOfSandboxes("key"),
      "{{key}}",
      "The share of their time that sandboxes were occupied, of the time in which their status was observed and known.",
    ),
    histogram("Dwell times in occupied", "s", 12)
      .about(
        "Completed dwell times of servers in occupied, of all names. Dwell times whose start or end was unobserved are not included.",
      )
      .every("5m")
      .buckets(
        `sum by (le) (${increase(series("sandbox_server_status_duration_seconds_bucket", ofTarget, 'status="occupied"'))})`,
      ),
  ],
};

const hours = Array.from({ length: 24 }, (_, hour) => hour);
const windows = ["1h", "1d", "7d", "30d"] as const;
const widths = Object.fromEntries(windows.map((window) => [window, 65]));

export const fleetWeeks: Row = {
  title: "Over weeks (needs the recording rules of occupancy.rules.yaml)",
  panels: [
    hours.reduce(
      (plan, hour) => plan.over(occupancyOfHour(hour), `${String(hour).padStart(2, "0")}:00`),
      shares("Occupancy by hour of day", "percentunit", 14)
        .about(
          "Occupancy in each hour of each day, in the time zone of the dashboard. No cell: nothing was observed, or the recording rules were not loaded yet.",
        )
        .high(12)
        .every("1d"),
    ),
    windows.reduce(
      (plan, window) =>
        plan.rows(
          `max by (region, key, server_name) (${series(`region_key_server_name:sandbox_occupancy:ratio_rate${window}`, ofName)})`,
        ),
      table("Occupancy by pool", "percentunit", 10)
        .about(
          "The occupied share of the time of servers of a name, in the last hour, day, week and thirty days. Empty until the recording rules have been loaded for a while.",
        )
        .high(12)
        .as({
          values: windows,
          columns: { region: 60, key: 90, server_name: null, ...widths },
          limits: [[0.9, unwell]],
          none: "nothing recorded",
        }),
    ),
  ],
};

/** Points are a day apart, at its beginning; what was recorded when the hour was over lies ahead of it. */
function occupancyOfHour(hour: number): string {
  const recorded = (what: string): string =>
    `sum(${series(`region_key_server_name:sandbox_servers_${what}:rate1h`, ofName)} offset -${hour + 1}h)`;
  return `${recorded("occupied")}\n/ (${recorded("known")} > 0)`;
}
