import { statuses } from "../core/model.ts";
import type { Status } from "../core/model.ts";
import type { NameAccount } from "../core/occupancy/bucket.ts";
import type { StaySketch } from "../core/occupancy/stay-sketch.ts";
import { noneByStatus } from "../core/snapshot/tallies.ts";
import type { Peak } from "./row.ts";

/** What a row adds up. It is added to in place: a report adds up millions of accounts. */
export interface RowSums {
  readonly ms: Record<Status, number>;
  unobservedMs: number;
  /** Milliseconds of occupied servers, by number of target. */
  readonly occupiedMs: Map<number, number>;
  readonly stays: MutableSketch;
  readonly peak: PeakSum;
  incidents: number;
  recoveries: number;
  recoveryMs: number;
}

interface MutableSketch extends StaySketch {
  sumMs: number;
  readonly bins: Map<number, number>;
}

export function emptySums(): RowSums {
  return {
    ms: noneByStatus(),
    unobservedMs: 0,
    occupiedMs: new Map(),
    stays: { sumMs: 0, bins: new Map() },
    peak: new PeakSum(),
    incidents: 0,
    recoveries: 0,
    recoveryMs: 0,
  };
}

/** @param target its number in the report */
export function addToSums(
  sums: RowSums,
  target: number,
  { ms, unobservedMs, stays }: Pick<NameAccount, "ms" | "unobservedMs" | "stays">,
): void {
  for (const status of statuses) sums.ms[status] += ms[status];
  sums.unobservedMs += unobservedMs;
  if (ms.occupied > 0) {
    sums.occupiedMs.set(target, (sums.occupiedMs.get(target) ?? 0) + ms.occupied);
  }
  addStaysTo(sums.stays, stays.occupied);
}

function addStaysTo(sum: MutableSketch, { sumMs, bins }: StaySketch): void {
  if (bins.size === 0) return;
  sum.sumMs += sumMs;
  for (const [bin, count] of bins) sum.bins.set(bin, (sum.bins.get(bin) ?? 0) + count);
}

/**
 * The most at a time, of which only the most of each part within each bucket is known: what the parts
 * had in the same bucket is added up.
 */
export class PeakSum {
  private slotMs = Number.NaN;
  private sum = 0;
  private parts = 0;
  private highest: Peak | null = null;

  /** In order of the buckets. */
  add(slotMs: number, most: number): void {
    if (slotMs !== this.slotMs) {
      this.settle();
      this.slotMs = slotMs;
    }
    this.sum += most;
    if (most > 0) this.parts += 1;
  }

  get(): Peak | null {
    this.settle();
    return this.highest;
  }

  private settle(): void {
    if (Number.isNaN(this.slotMs)) return;
    const { sum: count, highest } = this;
    const isExact = this.parts <= 1;
    if (!highest || count > highest.count || (count === highest.count && isExact)) {
      this.highest = { count, isExact };
    }
    this.slotMs = Number.NaN;
    this.sum = 0;
    this.parts = 0;
  }
}
