import { chanceOfRise, median, medianSlope } from "./trend.ts";

/** One of several weeks in a row. */
export interface Week {
  /** Of the servers' watched time. Null: none was watched. */
  readonly occupiedShare: number | null;
  /** Of the servers' time. */
  readonly observedShare: number;
}

export type Forecast =
  | { readonly kind: "passes"; readonly inWeeks: number; readonly risePerWeek: number }
  | { readonly kind: "none"; readonly reason: ForecastReason };

export type ForecastReason =
  /** Fewer weeks than are needed were watched well enough. */
  | "too_little"
  /** The last week was above it. */
  | "passed_already"
  /** What rise there is may be chance. */
  | "no_rise"
  /** It would be passed later than these weeks can tell. */
  | "too_far";

const fewestWeeks = 4;
/** A week of which less was watched says too little. */
const leastObserved = 0.8;
/** So rarely values without any trend are taken for a rise. */
const chanceAllowed = 0.05;

/**
 * When the occupied share would pass a threshold if it went on rising as in the weeks looked back on: the
 * last ones in a row that were watched well. The line has the median of the slopes of all pairs of
 * weeks, and leaves as many above as below. Weeks as a whole are compared, so that neither days nor
 * hours of the week matter. It looks as far ahead as back, and not at all where weeks in random order
 * would rise as steadily more often than once in twenty.
 *
 * @param weeks the latest last
 * @param threshold from 0 to 1
 */
export function forecast(weeks: readonly Week[], threshold: number): Forecast {
  const shares = lastWatched(weeks);
  if (shares.length < fewestWeeks) return { kind: "none", reason: "too_little" };
  const last = shares.length - 1;
  if ((shares[last] ?? 0) >= threshold) return { kind: "none", reason: "passed_already" };
  const risePerWeek = medianSlope(shares);
  if (risePerWeek <= 0 || chanceOfRise(shares) > chanceAllowed) {
    return { kind: "none", reason: "no_rise" };
  }
  const base = median(shares.map((share, week) => share - risePerWeek * week));
  // A week's share stands for its middle; what is asked for counts from its end.
  const inWeeks = Math.max(0, (threshold - base) / risePerWeek - last - 0.5);
  if (inWeeks > shares.length) return { kind: "none", reason: "too_far" };
  return { kind: "passes", inWeeks, risePerWeek };
}

function lastWatched(weeks: readonly Week[]): readonly number[] {
  const shares: number[] = [];
  for (const { occupiedShare, observedShare } of weeks.toReversed()) {
    if (occupiedShare === null || observedShare < leastObserved) break;
    shares.unshift(occupiedShare);
  }
  return shares;
}
