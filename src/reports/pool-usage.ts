/** A short stretch of the time of a pool, such as an hour. */
export interface PoolCell {
  /** UTC milliseconds. */
  readonly fromMs: number;
  readonly toMs: number;
  readonly observedMs: number;
  /** For how long it was observed and no server was idle. */
  readonly noIdleMs: number;
  /** The most servers that were occupied at a time. Null: nothing was observed. */
  readonly occupiedPeak: number | null;
}

/** How far the servers of a pool were used up in a range. */
export interface Usage {
  readonly peak: { readonly count: number; readonly fromMs: number; readonly toMs: number } | null;
  readonly observedMs: number;
  /** For how long no server was idle. */
  readonly noIdleMs: number;
  /** The longest stretch of that, which is at most that long, and the start of the cell in which it begins. */
  readonly longestNoIdle: { readonly fromMs: number; readonly ms: number } | null;
  /**
   * The number of servers that would have been enough for 99 % of the observed time. `isMore`: those that there were, were not
   * enough, since none was idle for more than 1 % of it.
   */
  readonly needed: { readonly servers: number; readonly isMore: boolean } | null;
}

const enoughShare = 0.99;

/** Adds up cells in order. */
export class UsageSums {
  private observedMs = 0;
  private noIdleMs = 0;
  private peak: Usage["peak"] = null;
  private longest: Usage["longestNoIdle"] = null;
  /** The stretch without an idle server that reaches the end of the last cell. */
  private stretch: { readonly fromMs: number; readonly ms: number; readonly toMs: number } | null =
    null;
  /** Observed time by the peak of the cell. */
  private readonly byPeak = new Map<number, number>();

  add(cell: PoolCell): void {
    const { fromMs, toMs, observedMs, occupiedPeak: count } = cell;
    if (count === null) return;
    this.observedMs += observedMs;
    this.byPeak.set(count, (this.byPeak.get(count) ?? 0) + observedMs);
    if (count > (this.peak?.count ?? -1)) this.peak = { count, fromMs, toMs };
    if (cell.noIdleMs > 0) this.stretchOver(cell);
  }

  private stretchOver({ fromMs, toMs, noIdleMs }: PoolCell): void {
    this.noIdleMs += noIdleMs;
    const begun = { fromMs, ms: noIdleMs, toMs };
    const before = this.stretch?.toMs === fromMs ? this.stretch : null;
    const stretch = before ? { ...before, ms: before.ms + noIdleMs, toMs } : begun;
    if (stretch.ms > (this.longest?.ms ?? 0)) {
      this.longest = { fromMs: stretch.fromMs, ms: stretch.ms };
    }
    // If a server was idle in between, a stretch ended within the cell, and another one may have begun.
    this.stretch = noIdleMs < toMs - fromMs ? begun : stretch;
  }

  result(): Usage {
    const { peak, observedMs, noIdleMs, longest } = this;
    return { peak, observedMs, noIdleMs, longestNoIdle: longest, needed: this.needed() };
  }

  /** The peak of a cell counts for all of it, so that the number is enough at any time within it. */
  private needed(): Usage["needed"] {
    let passedMs = 0;
    for (const [servers, ms] of [...this.byPeak].toSorted(([one], [other]) => one - other)) {
      passedMs += ms;
      if (passedMs < this.observedMs * enoughShare || this.observedMs === 0) continue;
      return { servers, isMore: this.noIdleMs > this.observedMs * (1 - enoughShare) };
    }
    return null;
  }
}
