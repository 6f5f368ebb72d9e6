import type { TimeRange } from "./time-range.ts";

/** How much of any stretch lies in gaps. */
export type GapTimes = (fromMs: number, toMs: number) => number;

/** @param gaps in order; none overlaps another */
export async function readGapTimes(gaps: AsyncIterable<TimeRange>): Promise<GapTimes> {
  const starts: number[] = [];
  const ends: number[] = [];
  /** Of all gaps before each one. */
  const before: number[] = [];
  let sumMs = 0;
  for await (const { fromMs, toMs } of gaps) {
    starts.push(fromMs);
    ends.push(toMs);
    before.push(sumMs);
    sumMs += toMs - fromMs;
  }
  const upTo = (atMs: number): number => {
    const index = lastAtMost(starts, atMs);
    if (index < 0) return 0;
    const inLast = Math.min(atMs, ends[index] ?? atMs) - (starts[index] ?? atMs);
    return (before[index] ?? 0) + inLast;
  };
  return (fromMs, toMs) => upTo(toMs) - upTo(fromMs);
}

/** -1: all are greater. */
function lastAtMost(sorted: readonly number[], value: number): number {
  let low = -1;
  let high = sorted.length - 1;
  while (low < high) {
    const middle = Math.ceil((low + high) / 2);
    if ((sorted[middle] ?? 0) <= value) low = middle;
    else high = middle - 1;
  }
  return low;
}
