import { setTimeout } from "node:timers/promises";
import type { CallApi } from "../../api/operation.ts";
import { reportOccupancySeries, type SeriesView } from "../../api/operations/occupancy-series.ts";
import { reportOccupancy, type RowView } from "../../api/operations/occupancy.ts";
import type { HistoryContext } from "../../api/context.ts";
import type { Target } from "../../fleet/model.ts";
import { openZone, toLocal, utc } from "../../reports/zone.ts";
import { readRows } from "./read-report.ts";
import type { HourOccupancy } from "./report-charts.ts";
import type { OccupancyQuery } from "./occupancy-query.ts";

export type OccupancyData = ReturnType<typeof createOccupancyData>;

/** The days of a target or of a region, the first one first. */
export interface PlaceDays {
  readonly region: string;
  /** Null: all keys of the region. */
  readonly key: string | null;
  readonly days: readonly DayOccupancy[];
}

/** What is kept of a day: there are many of them. */
type DayOccupancy = Pick<
  RowView,
  "day" | "coverage" | "error_seconds" | "error_share" | "server_seconds" | "unobserved_seconds"
>;

export const shownDays = 90;
const heatmapDays = 28;
const dayMs = 24 * 60 * 60_000;
const mostNames = 500;
/** For more than that, days are those of regions. */
const mostTargets = 200;
/** Every target has a row in a report, however short. */
const recently = "5m";
/** Days and weeks change slowly. */
const daysKeptMs = 5 * 60_000;
const hoursKeptMs = 60 * 60_000;
/** What is read for pages takes at most this part of the time, however many are open. */
const keptPerCost = 50;
const mostKept = 50;
/** Reads what pages show of occupancy. Equal requests share a result for a while. */
export function createOccupancyData(api: CallApi<HistoryContext>) {
  const keptSeries = keepResults<SeriesView>();
  const keptDays = keepResults<readonly PlaceDays[]>();
  const keptPlaces = keepResults<readonly Target[]>();
  const keptNames = keepResults<readonly string[]>();

  const places = () =>
    keptPlaces("", daysKeptMs, async () => {
      const rows = await readRows(api, { from: recently, by: "region,key" });
      return rows.map(({ region = "", key = "" }) => ({ region, key }));
    });
  const filterOf = ({ region, key }: OccupancyQuery) => ({ region: [...region], key: [...key] });
  const series = (
    query: OccupancyQuery,
    tz: string,
    leastMs = 0,
    step?: string,
  ): Promise<SeriesView> => {
    const { of, from, to, serverName } = query;
    const request = {
      of,
      from,
      ...(to !== null && { to }),
      ...filterOf(query),
      server_name: [...serverName],
      tz: query.tz ?? tz,
      ...(step !== undefined && { step }),
    };
    return keptSeries(JSON.stringify(request), leastMs, () => api(reportOccupancySeries, request));
  };

  return {
    series: (query: OccupancyQuery, tz: string) => series(query, tz),

    /** Of the last four weeks. */
    async hours(query: OccupancyQuery, tz: string): Promise<readonly HourOccupancy[]> {
      const weeks = { ...query, from: `${heatmapDays}d`, to: null };
      return hoursOf(await series(weeks, tz, hoursKeptMs, "1h"), query.tz ?? tz);
    },

    /** Of every target, or of every region where there are many targets. */
    async days(query: OccupancyQuery, tz: string, nowMs: number): Promise<readonly PlaceDays[]> {
      const targets = await places();
      const by = targets.length > mostTargets ? "region,day" : "region,key,day";
      const from = localDay(query.tz ?? tz, nowMs - (shownDays - 1) * dayMs);
      const request = { of: query.of, from, by, tz: query.tz ?? tz, ...filterOf(query) };
      return keptDays(JSON.stringify(request), daysKeptMs, async () => {
        const rows = await readRows(api, request);
        const found = Map.groupBy(rows, ({ region, key }) => JSON.stringify([region, key]));
        return Array.from(found.values(), (days) => {
          const { region = "", key = null } = days[0] ?? {};
          return { region, key, days: days.map(dayOf) };
        });
      });
    },

    /** What can be chosen: the regions, keys and server names of all targets. */
    async choices(): Promise<Choices> {
      const targets = await places();
      return {
        regions: [...new Set(targets.map(({ region }) => region))].toSorted(),
        keys: [...new Set(targets.map(({ key }) => key))].toSorted(),
        names: await keptNames("", daysKeptMs, async () => {
          const { rows } = await api(reportOccupancy, {
            from: recently,
            by: "server_name",
            limit: mostNames,
          });
          return rows.flatMap(({ server_name: name }) => (name ? [name] : []));
        }),
      };
    },
  };
}

function dayOf(row: RowView): DayOccupancy {
  const { day, coverage, error_seconds, error_share, server_seconds, unobserved_seconds } = row;
  return { day, coverage, error_seconds, error_share, server_seconds, unobserved_seconds };
}

/** Results by the request of which they are, each for some time after it was read. */
function keepResults<Value>() {
  const kept = new Map<string, { readonly value: Promise<Value>; untilMs: number }>();
  return (name: string, leastMs: number, read: () => Promise<Value>): Promise<Value> => {
    const found = kept.get(name);
    const startedMs = performance.now();
    if (found && startedMs < found.untilMs) return found.value;
    const result = { value: read(), untilMs: Number.POSITIVE_INFINITY };
    kept.delete(name);
    kept.set(name, result);
    const keep = async (): Promise<void> => {
      try {
        await result.value;
        const endedMs = performance.now();
        result.untilMs = endedMs + Math.max(leastMs, (endedMs - startedMs) * keptPerCost);
      } catch {
        if (kept.get(name) === result) kept.delete(name);
      }
    };
    void keep();
    const [oldest] = kept.keys();
    if (kept.size > mostKept && oldest !== undefined) kept.delete(oldest);
    return result.value;
  };
}

/** Null where it takes longer: the next page that asks has it. */
export async function soon<Value>(value: Promise<Value>, ms: number): Promise<Value | null> {
  const timeout = new AbortController();
  const late = setTimeout(ms, null, { signal: timeout.signal }).catch(() => null);
  try {
    return await Promise.race([value, late]);
  } finally {
    timeout.abort();
  }
}

/** What can be chosen. */
export interface Choices {
  readonly regions: readonly string[];
  readonly keys: readonly string[];
  readonly names: readonly string[];
}

function localDay(tz: string, atMs: number): string {
  return new Date(toLocal(openZone(tz) ?? utc, atMs)).toISOString().slice(0, 10);
}

/** Where hours of a zone are not kept, an hour of UTC counts for the one in which it begins. */
function hoursOf(series: SeriesView, tz: string): readonly HourOccupancy[] {
  const zone = openZone(tz) ?? utc;
  return series.start.map((time, at) => {
    const local = new Date(toLocal(zone, Date.parse(time)));
    const of = (counts: readonly number[]): number => (counts[at] ?? 0) * (series.seconds[at] ?? 0);
    const occupied = of(series.occupied);
    return {
      weekday: (local.getUTCDay() + 6) % 7,
      hour: local.getUTCHours(),
      occupied,
      observed: occupied + of(series.idle) + of(series.error) + of(series.unknown),
    };
  });
}
