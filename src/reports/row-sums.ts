import { addAccount, emptyAccount } from "../fleet/buckets.ts";
import type { NameAccount } from "../fleet/buckets.ts";
import type { Peak } from "./row.ts";

/** What a row adds up. */
export interface RowSums {
  servers: NameAccount;
  /** Milliseconds of occupied servers, by number of target. */
  readonly occupiedMs: Map<number, number>;
  readonly peak: PeakSum;
  incidents: number;
  recoveries: number;
  recoveryMs: number;
}

export function emptySums(): RowSums {
  return {
    servers: emptyAccount,
    occupiedMs: new Map(),
    peak: new PeakSum(),
    incidents: 0,
    recoveries: 0,
    recoveryMs: 0,
  };
}

/**
 * Adds time of servers to a row.
 *
 * @param target its number in the report
 */
export function addServers(sums: RowSums, target: number, account: NameAccount): void {
  sums.servers = addAccount(sums.servers, account);
  const { occupiedMs } = sums;
  occupiedMs.set(target, (occupiedMs.get(target) ?? 0) + account.ms.occupied);
}

export function addUnobserved(sums: RowSums, ms: number): void {
  sums.servers = { ...sums.servers, unobservedMs: sums.servers.unobservedMs + ms };
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
