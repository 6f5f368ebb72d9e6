import { addAccount, emptyAccount } from "../fleet/buckets.ts";
import { countByStatus } from "../fleet/tallies.ts";
import type { OccupancyReader } from "../store/occupancy-history.ts";

/** One of several weeks in a row. */
export interface Week {
  /** Of the servers' observed time. Null: none was observed. */
  readonly occupiedShare: number | null;
  /** Of the servers' time. */
  readonly observedShare: number;
}

export type Forecast =
  | { readonly kind: "passes"; readonly inWeeks: number; readonly risePerWeek: number }
  | { readonly kind: "none"; readonly reason: ForecastReason };

export type ForecastReason =
  /** Fewer weeks than are needed were observed well enough. */
  | "too_little"
  /** The last week was above it. */
  | "passed_already"
  /** The values do not rise, or not linearly. */
  | "no_rise"
  /** The limit would be passed after the time that these weeks allow to predict. */
  | "too_far";

const fewestWeeks = 4;
const mostWeeks = 12;
/** A week of which less was observed says too little. */
const leastObserved = 0.8;
/** The line must explain this part of the variance. Four weeks of noise do so in one of twenty cases, more weeks in fewer. */
const leastExplained = 0.8;

export const dayMs = 24 * 60 * 60_000;
export const weekMs = 7 * dayMs;

/**
 * When the occupied share would pass a threshold if it went on rising along the line (of least squares) through the latest
 * consecutive weeks that were observed well. Weeks as a whole are compared, so that neither days nor hours of the week
 * matter. It looks as far ahead as back.
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
  if (count < fewestWeeks) return { kind: "none", reason: "too_little" };
  if ((shares.at(-1) ?? 0) >= threshold) return { kind: "none", reason: "passed_already" };
  const middle = (count - 1) / 2;
  const mean = sum(shares) / count;
  const weekVariance = sum(shares.map((_, week) => (week - middle) ** 2));
  const shareVariance = sum(shares.map((share) => (share - mean) ** 2));
  const covariance = sum(shares.map((share, week) => (share - mean) * (week - middle)));
  const explained = covariance ** 2 / (weekVariance * shareVariance);
  if (!(covariance > 0 && explained >= leastExplained)) return { kind: "none", reason: "no_rise" };
  const risePerWeek = covariance / weekVariance;
  // A week's share stands for its middle; what is asked for counts from the end of the last one.
  const inWeeks = Math.max(0, (threshold - mean) / risePerWeek + middle - (count - 0.5));
  if (inWeeks > count) return { kind: "none", reason: "too_far" };
  return { kind: "passes", inWeeks, risePerWeek };
}

function sum(values: readonly number[]): number {
  return values.reduce((total, each) => total + each, 0);
}

/** The last whole weeks up to the beginning of today in UTC, the latest last. */
export async function readWeeks(
  occupancy: Pick<OccupancyReader, "buckets">,
  nowMs: number,
): Promise<readonly Week[]> {
  const toMs = Math.floor(nowMs / dayMs) * dayMs;
  const fromMs = toMs - mostWeeks * weekMs;
  const weeks = Array.from({ length: mostWeeks }, () => emptyAccount);
  const days = Array.from({ length: mostWeeks }, () => new Set<number>());
  for await (const some of occupancy.buckets({ resolution: "1d", fromMs, toMs }, false)) {
    for (const { bucket } of some) {
      const week = Math.floor((bucket.startMs - fromMs) / weekMs);
      days[week]?.add(bucket.startMs);
      weeks[week] = bucket.names.values().reduce(addAccount, weeks[week] ?? emptyAccount);
    }
  }
  return weeks.map(({ ms, unobservedMs }, week) => {
    const observedMs = countByStatus(ms);
    const wholeMs = observedMs + unobservedMs;
    return {
      occupiedShare: observedMs === 0 ? null : ms.occupied / observedMs,
      // A day without a bucket is unknown.
      observedShare: wholeMs === 0 ? 0 : (observedMs / wholeMs) * ((days[week]?.size ?? 0) / 7),
    };
  });
}
