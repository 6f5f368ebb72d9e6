import type { Row } from "./dashboard.ts";
import { unwell } from "./colours.ts";
import { histogram, shares } from "./heatmaps.ts";
import { bars, lines } from "./panels.ts";
import { increase, named, occupancy, occupancyOfNames } from "./promql.ts";
import { occupancyOfSandboxes, ofName, ofTarget } from "./promql.ts";
import { sandboxes, series, servers } from "./promql.ts";
import { atEnd, buckets, overTime, rows } from "./queries.ts";
import { table } from "./tables.ts";

/** Polls that are a minute apart count at every point. */
const interval = "2m";

export function fleetOccupancy(): Row {
  const shareOfTime =
    "The share of their time that servers were occupied, of the time in which their status was seen and known.";
  const occupied = (title: string, expr: string, legend: string, description: string) =>
    lines(
      {
        title,
        description,
        unit: "percentunit",
        width: 12,
        interval,
        queries: [overTime(expr, legend)],
      },
      { share: true },
    );
  return {
    title: "Occupancy",
    panels: [
      lines(
        {
          title: "Servers by status",
          description:
            "Number of servers in each status. Servers of targets that are down are not counted.",
          unit: "short",
          width: 12,
          queries: [overTime(`sum by (status) (${servers(ofName)})`, "{{status}}")],
        },
        { byStatus: true, stacked: true },
      ),
      lines(
        {
          title: "Sandboxes by status",
          description:
            "Number of sandboxes in each status. Sandboxes of targets that are down are not counted.",
          unit: "short",
          width: 12,
          queries: [overTime(`sum by (status) (${sandboxes(ofTarget)})`, "{{status}}")],
        },
        { byStatus: true, stacked: true },
      ),
      occupied("Occupancy by region", occupancy("region"), "{{region}}", shareOfTime),
      occupied("Occupancy by key", occupancy("key"), "{{key}}", shareOfTime),
      bars(
        {
          title: "Occupancy by server name",
          description: `${shareOfTime} Of the whole time range: the twelve busiest names.`,
          unit: "percentunit",
          width: 12,
          queries: [atEnd(`sort_desc(topk(12, ${named(occupancyOfNames())}))`, "{{server_name}}")],
        },
        { share: true, limits: [[0.9, unwell]], none: "nothing observed" },
      ),
      occupied(
        "Occupancy of sandboxes by key",
        occupancyOfSandboxes("key"),
        "{{key}}",
        "The share of their time that sandboxes were occupied, of the time in which their status was observed and known.",
      ),
      histogram({
        title: "Dwell times in occupied",
        description:
          "Completed dwell times of servers in occupied, of all names. Dwell times whose start or end was unobserved are not included.",
        unit: "s",
        width: 12,
        interval: "5m",
        queries: [
          buckets(
            `sum by (le) (${increase(series("sandbox_server_status_duration_seconds_bucket", ofTarget, 'status="occupied"'))})`,
          ),
        ],
      }),
    ],
  };
}

const windows = ["1h", "1d", "7d", "30d"] as const;
const widths = Object.fromEntries(windows.map((window) => [window, 65]));

export function fleetWeeks(): Row {
  return {
    title: "Over weeks (needs the recording rules of occupancy.rules.yaml)",
    panels: [
      shares(
        {
          title: "Occupancy by hour of day",
          description:
            "Occupancy in each hour of each day, in the time zone of the dashboard. No cell: nothing was observed, or the recording rules were not loaded yet.",
          unit: "percentunit",
          width: 14,
          height: 12,
          interval: "1d",
          queries: Array.from({ length: 24 }, (_, hour) =>
            overTime(occupancyOfHour(hour), `${String(hour).padStart(2, "0")}:00`),
          ),
        },
        "14d",
      ),
      table(
        {
          title: "Occupancy by pool",
          description:
            "The occupied share of the time of servers of a name, in the last hour, day, week and thirty days. Empty until the recording rules have been loaded for a while.",
          unit: "percentunit",
          width: 10,
          height: 12,
          queries: windows.map((window) =>
            rows(
              `max by (region, key, server_name) (${series(`region_key_server_name:sandbox_occupancy:ratio_rate${window}`, ofName)})`,
            ),
          ),
        },
        {
          values: windows,
          columns: { region: 60, key: 90, server_name: null, ...widths },
          limits: [[0.9, unwell]],
          none: "nothing recorded",
        },
      ),
    ],
  };
}

/** Points are a day apart, at its beginning; what was recorded when the hour was over lies ahead of it. */
function occupancyOfHour(hour: number): string {
  const recorded = (what: string): string =>
    `sum(${series(`region_key_server_name:sandbox_servers_${what}:rate1h`, ofName)} offset -${hour + 1}h)`;
  return `${recorded("occupied")}\n/ (${recorded("known")} > 0)`;
}
