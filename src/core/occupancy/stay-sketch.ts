import { Runs } from "../runs.ts";

/**
 * How long stays took, in bins whose bounds grow by a fixed factor, so that any quantile is known to
 * within `relativeError` (DDSketch: Masson, Rim and Lee, VLDB 2019). Sketches add up without loss.
 */
export interface StaySketch {
  /** Of all stays together. Milliseconds. */
  readonly sumMs: number;
  /** The numbers of the bins that hold any, the lowest first. */
  readonly bins: readonly number[];
  /** How many stays each of them holds. */
  readonly counts: readonly number[];
}

export const relativeError = 0.02;

const growth = (1 + relativeError) / (1 - relativeError);
const logOfGrowth = Math.log(growth);

export const noStays: StaySketch = { sumMs: 0, bins: [], counts: [] };

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
    const bins = [...this.bins.keys()].toSorted((one, other) => one - other);
    return { sumMs: this.sumMs, bins, counts: bins.map((bin) => this.bins.get(bin) ?? 0) };
  }
}

export function addStays(some: StaySketch, more: StaySketch): StaySketch {
  if (more.bins.length === 0) return some;
  if (some.bins.length === 0) return more;
  const bins: number[] = [];
  const counts: number[] = [];
  let [one, other] = [0, 0];
  // Of a broken store a bin may be no number: with each turn something is passed, whatever it is.
  while (one < some.bins.length || other < more.bins.length) {
    const bin = some.bins[one] ?? Infinity;
    const next = more.bins[other] ?? Infinity;
    let count = 0;
    if (!(next < bin)) count += some.counts[one++] ?? 0;
    if (!(bin < next)) count += more.counts[other++] ?? 0;
    bins.push(Math.min(bin, next));
    counts.push(count);
  }
  return { sumMs: some.sumMs + more.sumMs, bins, counts };
}

export function countStays({ counts }: StaySketch): number {
  return counts.reduce((sum, count) => sum + count, 0);
}

export function meanStayMs(sketch: StaySketch): number | null {
  const count = countStays(sketch);
  return count === 0 ? null : sketch.sumMs / count;
}

/**
 * @param quantile from 0 to 1: 0.5 for the median
 * @returns milliseconds, at most `relativeError` beside the true value; null: there were no stays
 */
export function stayQuantileMs(sketch: StaySketch, quantile: number): number | null {
  const rank = quantile * (countStays(sketch) - 1);
  let passed = 0;
  for (const [at, bin] of sketch.bins.entries()) {
    passed += sketch.counts[at] ?? 0;
    if (passed > rank) return (2 * growth ** bin) / (growth + 1);
  }
  return null;
}
