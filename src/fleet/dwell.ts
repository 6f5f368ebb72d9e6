/**
 * Dwell times (how long servers stayed in a status before they left it) as a histogram with fixed bounds, as Prometheus has
 * them. Histograms add up without loss; a quantile is known to within the bounds of its bucket.
 */
export interface DwellHistogram {
  /** How many dwell times were at most as long as the bound of the same place; last those over all bounds. */
  readonly counts: readonly number[];
  /** All dwell times together. Milliseconds. */
  readonly sumMs: number;
}

const secondMs = 1_000;
const minuteMs = 60 * secondMs;
const hourMs = 60 * minuteMs;
const dayMs = 24 * hourMs;

/** Upper bounds, inclusive. Milliseconds. */
const dwellBoundsMs: readonly number[] = [
  10 * secondMs,
  30 * secondMs,
  minuteMs,
  2 * minuteMs,
  5 * minuteMs,
  15 * minuteMs,
  30 * minuteMs,
  hourMs,
  2 * hourMs,
  4 * hourMs,
  12 * hourMs,
  dayMs,
  7 * dayMs,
];

export const noDwells: DwellHistogram = {
  counts: Array.from({ length: dwellBoundsMs.length + 1 }, () => 0),
  sumMs: 0,
};

/** @param dwellsMs whole milliseconds each */
export function dwellsOf(dwellsMs: Iterable<number>): DwellHistogram {
  const counts = [...noDwells.counts];
  let sumMs = 0;
  for (const ms of dwellsMs) {
    const bucket = bucketOf(ms);
    counts[bucket] = (counts[bucket] ?? 0) + 1;
    sumMs += ms;
  }
  return { counts, sumMs };
}

export function addDwells(some: DwellHistogram, more: DwellHistogram): DwellHistogram {
  if (more === noDwells) return some;
  if (some === noDwells) return more;
  return {
    counts: some.counts.map((count, bucket) => count + (more.counts[bucket] ?? 0)),
    sumMs: some.sumMs + more.sumMs,
  };
}

export function countDwells({ counts }: DwellHistogram): number {
  return counts.reduce((sum, count) => sum + count, 0);
}

export function meanDwellMs(histogram: DwellHistogram): number | null {
  const count = countDwells(histogram);
  return count === 0 ? null : histogram.sumMs / count;
}

/**
 * Interpolated within the bucket, as `histogram_quantile` does it; one over all bounds counts as the last bound.
 *
 * @param quantile from 0 to 1: 0.5 for the median
 * @returns milliseconds; null: there are no dwell times
 */
export function dwellQuantileMs(histogram: DwellHistogram, quantile: number): number | null {
  const total = countDwells(histogram);
  if (total === 0) return null;
  const rank = quantile * total;
  let below = 0;
  for (const [bucket, count] of histogram.counts.entries()) {
    if (count > 0 && below + count >= rank) {
      const fromMs = dwellBoundsMs[bucket - 1] ?? 0;
      const toMs = dwellBoundsMs[bucket];
      return toMs === undefined ? fromMs : fromMs + ((toMs - fromMs) * (rank - below)) / count;
    }
    below += count;
  }
  return dwellBoundsMs.at(-1) ?? null;
}

function bucketOf(ms: number): number {
  const bucket = dwellBoundsMs.findIndex((boundMs) => ms <= boundMs);
  return bucket === -1 ? dwellBoundsMs.length : bucket;
}
