import { Runs } from "../runs.ts";

/**
 * How long stays took, in bins whose bounds grow by a fixed factor, so that any quantile is known to
 * within `relativeError` (DDSketch: Masson, Rim and Lee, VLDB 2019). Sketches add up without loss.
 */
export interface StaySketch {
  /** Of all stays together. Milliseconds. */
  readonly sumMs: number;
  /** Stays by number of bin; only bins that hold any. */
  readonly bins: ReadonlyMap<number, number>;
}

export const relativeError = 0.02;

const growth = (1 + relativeError) / (1 - relativeError);
const logOfGrowth = Math.log(growth);

export const noStays: StaySketch = { sumMs: 0, bins: new Map() };

/** Counts one more stay. Of many, make one sketch and add that: this one copies all before. */
export function addStay(sketch: StaySketch, stayMs: number): StaySketch {
  const one = new GrowingSketch();
  one.add(stayMs);
  return addStays(sketch, one.toSketch());
}

/** A sketch that is added to in place. Most stays that end with one poll began with one poll. */
export class GrowingSketch {
  private sumMs = 0;
  private readonly bins = new Map<number, number>();
  private readonly runs = new Runs((stayMs, count) => {
    const bin = Math.ceil(Math.log(Math.max(1, stayMs)) / logOfGrowth);
    this.bins.set(bin, (this.bins.get(bin) ?? 0) + count);
    this.sumMs += Math.round(stayMs) * count;
  });

  /** Counts one more stay. A shorter one than a millisecond counts as that long. */
  add(stayMs: number): void {
    this.runs.add(stayMs);
  }

  toSketch(): StaySketch {
    this.runs.end();
    return { sumMs: this.sumMs, bins: new Map(this.bins) };
  }
}

export function addStays(some: StaySketch, more: StaySketch): StaySketch {
  if (more.bins.size === 0) return some;
  if (some.bins.size === 0) return more;
  const bins = new Map(some.bins);
  for (const [bin, count] of more.bins) bins.set(bin, (bins.get(bin) ?? 0) + count);
  return { sumMs: some.sumMs + more.sumMs, bins };
}

export function countStays({ bins }: StaySketch): number {
  return bins.values().reduce((sum, count) => sum + count, 0);
}

export function meanStayMs(sketch: StaySketch): number | null {
  const count = countStays(sketch);
  return count === 0 ? null : sketch.sumMs / count;
}

/** The numbers of its bins, the lowest first. Without their counts they are sorted many times as fast. */
export function sortedBins({ bins }: StaySketch): Int32Array {
  return Int32Array.from(bins.keys()).toSorted();
}

/**
 * @param quantile from 0 to 1: 0.5 for the median
 * @returns milliseconds, at most `relativeError` beside the true value; null: there were no stays
 */
export function stayQuantileMs(sketch: StaySketch, quantile: number): number | null {
  const rank = quantile * (countStays(sketch) - 1);
  let passed = 0;
  for (const bin of sortedBins(sketch)) {
    passed += sketch.bins.get(bin) ?? 0;
    if (passed > rank) return (2 * growth ** bin) / (growth + 1);
  }
  return null;
}
