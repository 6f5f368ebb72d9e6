/**
 * Dwell times (how long servers stayed in a status before they left it) as a histogram with fixed bounds, as Prometheus has
 * them. Histograms add up without loss; a quantile is known to within the bounds of its bucket.
 */
export interface DwellHistogram {
  /** How many dwell times were at most as long as the bound at the same index; last those over all bounds. */
  readonly counts: readonly number[];
  /** All dwell times together. Milliseconds. */
  readonly sumMs: number;
}

/** Upper bounds, inclusive. */
const boundsSeconds = [
  10, 30, 60, 120, 300, 900, 1_800, 3_600, 7_200, 14_400, 43_200, 86_400, 604_800,
];
const dwellBoundsMs: readonly number[] = boundsSeconds.map((seconds) => seconds * 1_000);

export const noDwells: DwellHistogram = {
  counts: Array.from({ length: dwellBoundsMs.length + 1 }, () => 0),
  sumMs: 0,
};

/** @param dwellsMs whole milliseconds each */
export function dwellsOf(dwellsMs: Iterable<number>): DwellHistogram {
  const counts = [...noDwells.counts];
  let sumMs = 0;
  for (const ms of dwellsMs) {
    const found = dwellBoundsMs.findIndex((boundMs) => ms <= boundMs);
    const bucket = found === -1 ? dwellBoundsMs.length : found;
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

/** Milliseconds. */
export interface DwellQuantile {
  readonly ms: number;
  /** The bounds of what it is; both are the same where it is exact. Null: it has no upper one. */
  readonly leastMs: number;
  readonly mostMs: number | null;
}

/**
 * Exact where each dwell time is known, else interpolated within the bucket, as `histogram_quantile` does it; one over all bounds
 * counts as the last bound.
 *
 * @param quantile from 0 to 1: 0.5 for the median
 * @param dwellsMs those of the histogram, the shortest first, if each is known
 * @returns null: there are no dwell times
 */
export function dwellQuantile(
  histogram: DwellHistogram,
  quantile: number,
  dwellsMs: readonly number[] = [],
): DwellQuantile | null {
  const total = countDwells(histogram);
  if (total === 0) return null;
  const rank = quantile * total;
  if (dwellsMs.length === total) {
    const ms = dwellsMs[Math.max(0, Math.ceil(rank) - 1)] ?? 0;
    return { ms, leastMs: ms, mostMs: ms };
  }
  let below = 0;
  for (const [bucket, count] of histogram.counts.entries()) {
    if (count > 0 && below + count >= rank) {
      const leastMs = dwellBoundsMs[bucket - 1] ?? 0;
      const mostMs = dwellBoundsMs[bucket] ?? null;
      const widthMs = (mostMs ?? leastMs) - leastMs;
      return { ms: leastMs + (widthMs * (rank - below)) / count, leastMs, mostMs };
    }
    below += count;
  }
  return null;
}
