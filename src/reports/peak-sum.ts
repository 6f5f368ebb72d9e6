import type { Peak } from "./report-rows.ts";

/**
 * The most at a time, of which only the most of each part within each bucket is known: what the parts
 * had in the same bucket is added up.
 */
export class PeakSum {
  private slotMs = Number.NaN;
  private slot: Peak | null = null;
  private highest: Peak | null = null;

  /** In order of the buckets. */
  add(slotMs: number, most: number): void {
    if (slotMs !== this.slotMs) {
      this.highest = this.get();
      this.slotMs = slotMs;
      this.slot = null;
    }
    const { count, isExact } = this.slot ?? { count: 0, isExact: true };
    // Of several parts only one may have any at all.
    this.slot = { count: count + most, isExact: isExact && (count === 0 || most === 0) };
  }

  get(): Peak | null {
    const { slot, highest } = this;
    if (!slot || !highest) return slot ?? highest;
    const isHigher = slot.count > highest.count || (slot.count === highest.count && slot.isExact);
    return isHigher ? slot : highest;
  }
}
