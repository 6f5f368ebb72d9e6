import { addAccount, emptyAccount, type NameAccount } from "../fleet/buckets.ts";
import type { Target } from "../fleet/model.ts";
import { countByStatus } from "../fleet/tallies.ts";
import type { OccupancyReader } from "../store/occupancy-history.ts";

/** One of several weeks in a row. */
export interface Week {
  /** Of the servers' observed time. Null: none was observed. */
  readonly occupiedShare: number | null;
  /** Of the servers' time. */
  readonly observedShare: number;
}

export interface Forecast {
  /** The occupied share of the last week. Null: that was not observed well enough. */
  readonly level: number | null;
  /** The slope of the line through the weeks. Null: they are too few. */
  readonly risePerWeek: number | null;
  /** When the line reaches the threshold, from the end of the last week. Null: see the reason. */
  readonly inWeeks: number | null;
  readonly reason: ForecastReason | null;
}

export type ForecastReason =
  /** Fewer weeks than are needed were observed well enough. */
  | "too_little"
  /** The last week was at or above it. */
  | "passed_already"
  /** The values do not rise, or not linearly. */
  | "no_rise"
  /** The threshold would not be reached within twelve weeks. */
  | "too_far";

const fewestWeeks = 4;
/** As far as it looks back, and ahead. */
const mostWeeks = 12;
/** A week of which less was observed says too little. */
const leastObserved = 0.8;
/** The line must explain this part of the variance. Four weeks of noise do so in one of twenty cases, more weeks in fewer. */
const leastExplained = 0.8;

export const dayMs = 24 * 60 * 60_000;
export const weekMs = 7 * dayMs;

/**
 * When the occupied share would reach a threshold if it went on along the line (of least squares) through the latest
 * consecutive weeks that were observed well. Weeks as a whole are compared, so that neither days nor hours of the week
 * matter.
 *
 * @param weeks the latest last
 * @param threshold from 0 to 1
 */
export function forecast(weeks: readonly Week[], threshold: number): Forecast {
  const lastUnknown = weeks.findLastIndex(
    ({ occupiedShare, observedShare }) => occupiedShare === null || observedShare < leastObserved,
  );
  const shares = weeks.slice(lastUnknown + 1).map(({ occupiedShare }) => occupiedShare ?? 0);
  const count = shares.length;
  const level = shares.at(-1) ?? null;
  if (level === null || count < fewestWeeks) {
    return { level, risePerWeek: null, inWeeks: null, reason: "too_little" };
  }
  const middle = (count - 1) / 2;
  const mean = sum(shares) / count;
  const weekVariance = sum(shares.map((_, week) => (week - middle) ** 2));
  const shareVariance = sum(shares.map((share) => (share - mean) ** 2));
  const covariance = sum(shares.map((share, week) => (share - mean) * (week - middle)));
  const explained = covariance ** 2 / (weekVariance * shareVariance);
  const risePerWeek = covariance / weekVariance;
  const none = (reason: ForecastReason): Forecast => ({
    level,
    risePerWeek,
    inWeeks: null,
    reason,
  });
  if (level >= threshold) return none("passed_already");
  if (!(covariance > 0 && explained >= leastExplained)) return none("no_rise");
  // A week's share stands for its middle; what is asked for counts from the end of the last one.
  const inWeeks = Math.max(0, (threshold - mean) / risePerWeek + middle - (count - 0.5));
  return inWeeks > mostWeeks ? none("too_far") : { level, risePerWeek, inWeeks, reason: null };
}

function sum(values: readonly number[]): number {
  return values.reduce((total, each) => total + each, 0);
}

/**
 * The last whole weeks of each group of servers up to the beginning of today in UTC, the latest last.
 *
 * @param groupsOf the groups that the servers of a target and name are in
 */
export async function readWeeks(
  occupancy: Pick<OccupancyReader, "buckets">,
  nowMs: number,
  groupsOf: (target: Target, serverName: string) => readonly string[],
): Promise<ReadonlyMap<string, readonly Week[]>> {
  const toMs = Math.floor(nowMs / dayMs) * dayMs;
  const fromMs = toMs - mostWeeks * weekMs;
  const groups = new Map<string, NameAccount[]>();
  const days = Array.from({ length: mostWeeks }, () => new Set<number>());
  for await (const some of occupancy.buckets({ resolution: "1d", fromMs, toMs })) {
    for (const { target, bucket } of some) {
      const week = Math.floor((bucket.startMs - fromMs) / weekMs);
      days[week]?.add(bucket.startMs);
      for (const [name, account] of bucket.names) {
        for (const group of groupsOf(target, name)) {
          const weeks = groups.get(group) ?? Array.from({ length: mostWeeks }, () => emptyAccount);
          weeks[week] = addAccount(weeks[week] ?? emptyAccount, account);
          groups.set(group, weeks);
        }
      }
    }
  }
  const weekOf = ({ ms, unobservedMs }: NameAccount, week: number): Week => {
    const observedMs = countByStatus(ms);
    const wholeMs = observedMs + unobservedMs;
    return {
      occupiedShare: observedMs === 0 ? null : ms.occupied / observedMs,
      // A day without a bucket is unknown.
      observedShare: wholeMs === 0 ? 0 : (observedMs / wholeMs) * ((days[week]?.size ?? 0) / 7),
    };
  };
  return new Map(Array.from(groups, ([group, weeks]) => [group, weeks.map(weekOf)]));
}
