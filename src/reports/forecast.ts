import { fewestWeeks, trendOf } from "./trend.ts";

/** One of several weeks in a row. */
export interface Week {
  /** A share of the servers that there are now. Null: none was observed. */
  readonly share: number | null;
  /** How much of the week was observed, from 0 to 1. */
  readonly observedShare: number;
}

export interface Forecast {
  /** The share in the last week. Null: that was not observed well enough. */
  readonly level: number | null;
  /** By how much the share rises in a week. Null: there is no trend. */
  readonly risePerWeek: number | null;
  /** When the share reaches the threshold, from the end of the last week. Null: see the reason. */
  readonly inWeeks: number | null;
  readonly reason: ForecastReason | null;
  /** The share rose or fell once, before the week of that number. What is said of a rise per week is of the weeks since. */
  readonly step: { readonly week: number; readonly rise: number; readonly weeks: number } | null;
  /** A week that is far from the course of the others, and was not used. */
  readonly unusual: { readonly week: number; readonly by: number } | null;
  /** The weeks that were observed well enough. */
  readonly weeks: number;
}

export type ForecastReason =
  /** Fewer weeks than are needed were observed well enough, or the last one was not. */
  | "too_little"
  /** The last week was at or above it. */
  | "passed_already"
  /** The share does not rise, or not significantly. */
  | "no_rise"
  /** The share rose or fell once, and has no significant rise since. */
  | "step"
  /** The share rose too recently to distinguish a step from growth. */
  | "recent"
  /** The threshold would not be reached within twelve weeks. */
  | "too_far";

/** As far as it looks back, and ahead. */
export const mostWeeks = 12;
/** A week of which less was observed says too little. */
export const leastObserved = 0.8;

export const dayMs = 24 * 60 * 60_000;
export const weekMs = 7 * dayMs;

/**
 * When a share would reach a threshold if it went on as in the weeks that were observed well. Weeks as a whole are
 * compared, so that neither days nor hours of the week matter.
 *
 * @param weeks the latest last
 * @param threshold from 0 to 1
 * @param grain the distance of the shares that there can be. 0: there can be any
 */
export function forecast(weeks: readonly Week[], threshold: number, grain = 0): Forecast {
  const points = weeks.flatMap(({ share, observedShare }, week) =>
    share === null || observedShare < leastObserved ? [] : [{ week, value: share }],
  );
  const lastWeek = weeks.length - 1;
  const last = points.at(-1);
  const level = last?.week === lastWeek ? last.value : null;
  const unknown = { level, risePerWeek: null, inWeeks: null, step: null, unusual: null };
  if (level === null || points.length < fewestWeeks) {
    const isPassed = level !== null && level >= threshold;
    return { ...unknown, reason: isPassed ? "passed_already" : "too_little", weeks: points.length };
  }
  const { unusual, ...trend } = trendOf(points, grain);
  const course = trend.kind === "step" ? trend.since : trend;
  const line = course?.kind === "line" ? course : null;
  const found = {
    ...unknown,
    risePerWeek: line?.perWeek ?? null,
    step:
      trend.kind === "step"
        ? { ...trend, weeks: points.filter(({ week }) => week >= trend.week).length }
        : null,
    unusual: unusual && { week: unusual.week, by: unusual.by },
    weeks: points.length,
  };
  if (level >= threshold) return { ...found, reason: "passed_already" };
  if (trend.kind === "step" && trend.since === null && trend.rise > 0) {
    return { ...found, reason: "recent" };
  }
  if (!line || line.perWeek <= 0) return { ...found, reason: found.step ? "step" : "no_rise" };
  // A week's share stands for its middle; what is asked for counts from the end of the last one.
  const inWeeks = (threshold - line.valueAt(lastWeek)) / line.perWeek - 0.5;
  if (inWeeks > mostWeeks) return { ...found, reason: "too_far" };
  return { ...found, inWeeks: Math.max(0, inWeeks), reason: null };
}
