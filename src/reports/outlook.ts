import { forecast, type Forecast } from "./forecast.ts";
import type { Usage } from "./pool-usage.ts";

/** Seven days of a pool. */
export interface PoolWeek {
  /** UTC milliseconds. */
  readonly startMs: number;
  /** How much of it was observed, from 0 to 1. */
  readonly observedShare: number;
  /** It was observed that there were no servers. */
  readonly isEmpty: boolean;
  /** Occupied servers on average. Null: nothing was observed. */
  readonly occupiedAverage: number | null;
  /** The most servers that were occupied at a time. Null: nothing was observed. */
  readonly occupiedPeak: number | null;
  /** The most servers that there were at a time on its last day, 0 if there were none. Null: nothing was observed. */
  readonly servers: number | null;
}

/** What an outlook is made of. */
export interface PoolSeries {
  /** The latest last. */
  readonly weeks: readonly PoolWeek[];
  /** For how long no server was idle in the last week. */
  readonly lastNoIdleMs: number;
  /** In the range that is asked about. */
  readonly usage: Usage;
  /** Otherwise peaks and times without an idle server are upper bounds: the pool is of several parts. */
  readonly isExact: boolean;
}

/** How close a pool is to having no idle server. */
export interface Outlook {
  readonly isExact: boolean;
  /** At the end of the last week that was observed. Null: no week was. */
  readonly servers: number | null;
  /** In the range that is asked about. */
  readonly usage: Usage;
  /** The servers that were not occupied at the peak of the last week. Null: it was not observed. */
  readonly headroom: number | null;
  /** For how long no server was idle in the last week. */
  readonly lastNoIdleMs: number;
  /** The latest week before which the number of servers changed by a tenth or more. */
  readonly resize: { readonly atMs: number; readonly from: number; readonly to: number } | null;
  /** Of the weekly peak, for all servers that there are now. */
  readonly peakForecast: Forecast;
  /** Of the weekly average, for the threshold. */
  readonly averageForecast: Forecast;
  /** From the first week on of which anything was observed. */
  readonly weeks: readonly PoolWeek[];
}

/** @param threshold of the average, from 0 to 1 */
export function outlookOf(
  { weeks: all, usage, lastNoIdleMs, isExact }: PoolSeries,
  threshold: number,
): Outlook {
  const first = all.findIndex(({ observedShare }) => observedShare > 0);
  const weeks = first === -1 ? [] : all.slice(first);
  const servers = weeks.findLast((week) => week.servers !== null)?.servers ?? null;
  // What was occupied is compared with the servers that there are now, so that a resize is not a trend.
  const shares = (countOf: (week: PoolWeek) => number | null) =>
    weeks.map((week) => {
      const count = countOf(week);
      const share = count === null || !servers ? null : count / servers;
      return { share, observedShare: week.observedShare };
    });
  const last = weeks.at(-1);
  const lastPeak = last?.occupiedPeak ?? null;
  return {
    isExact,
    servers,
    // Of an upper bound, it is not known whether more were needed.
    usage: isExact || !usage.needed?.isMore ? usage : { ...usage, needed: null },
    headroom: lastPeak === null || servers === null ? null : Math.max(0, servers - lastPeak),
    lastNoIdleMs,
    resize: resizeOf(weeks),
    peakForecast: forecast(
      shares(({ occupiedPeak }) => occupiedPeak),
      1,
      servers ? 1 / servers : 0,
    ),
    averageForecast: forecast(
      shares(({ occupiedAverage }) => occupiedAverage),
      threshold,
    ),
    weeks,
  };
}

const leastResize = 0.1;

function resizeOf(weeks: readonly PoolWeek[]): Outlook["resize"] {
  const sizes = weeks.flatMap(({ startMs, servers }) =>
    servers === null ? [] : [{ startMs, servers }],
  );
  const at = sizes.findLastIndex(({ servers }, index) => {
    const before = sizes[index - 1]?.servers ?? servers;
    return Math.abs(servers - before) > leastResize * Math.max(1, before);
  });
  const [before, after] = [sizes[at - 1], sizes[at]];
  return before && after ? { atMs: after.startMs, from: before.servers, to: after.servers } : null;
}

/** The first ones run out first. */
export function compareUrgency(one: Outlook, other: Outlook): number {
  const [a, b] = [urgencyOf(one), urgencyOf(other)];
  const at = a.findIndex((value, index) => value !== b[index]);
  return at === -1 ? 0 : (a[at] ?? 0) - (b[at] ?? 0);
}

function urgencyOf(outlook: Outlook): readonly number[] {
  const { servers, headroom, lastNoIdleMs, peakForecast } = outlook;
  const standing = standingOf(outlook);
  const free = servers && headroom !== null ? headroom / servers : Number.MAX_VALUE;
  return [
    standings.indexOf(standing),
    standing === "full" ? -lastNoIdleMs : 0,
    peakForecast.inWeeks ?? Number.MAX_VALUE,
    free,
  ];
}

/** From the most urgent one. */
export const standings = [
  "full",
  "runs_out",
  "perhaps_full",
  "rose_recently",
  "no_date",
  "single",
  "unknown",
] as const;
export type Standing = (typeof standings)[number];

export function standingOf({ isExact, lastNoIdleMs, peakForecast, servers }: Outlook): Standing {
  if (!servers) return "unknown";
  if (servers === 1) return "single";
  if (lastNoIdleMs > 0) return isExact ? "full" : "perhaps_full";
  if (peakForecast.inWeeks !== null) return "runs_out";
  if (peakForecast.reason === "recent") return "rose_recently";
  // Of several parts, peaks may add up to more than there were at once.
  const isVague = peakForecast.reason === "passed_already" && !isExact;
  return peakForecast.reason === "too_little" || isVague ? "unknown" : "no_date";
}
