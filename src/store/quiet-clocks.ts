import type { PoolClock } from "../alerts/judge-pools.ts";
import type { Clock } from "../lib/clock.ts";
import type { SharedCommits } from "./shared-commits.ts";
import { writeClocks, writePoolClocks, type PolledTarget } from "./targets.ts";

/** How often clocks are written. A kill loses what was counted since. */
export const clocksEveryMs = 5_000;

/**
 * The clocks of targets whose last polls changed nothing, and of their pools. They are kept in memory and written together.
 * While they cannot be written, each poll is committed by itself, so that it shows that nothing is stored.
 */
export class QuietClocks {
  private readonly commits: SharedCommits;
  /** Null: every poll is committed by itself. */
  private readonly clock: Clock | null;
  private readonly onFailed: (error: unknown) => void;
  private readonly targets = new Map<number, PolledTarget>();
  private readonly pools = new Map<string, PoolClock>();
  private isWritable = true;
  private cancelTimer: (() => void) | null = null;

  constructor(
    commits: SharedCommits,
    clock: Clock | null,
    onFailed: (error: unknown) => void = () => {},
  ) {
    this.commits = commits;
    this.clock = clock;
    this.onFailed = onFailed;
  }

  /** @returns whether they will be written; otherwise the poll is to be committed by itself */
  take(target: PolledTarget): boolean {
    if (!this.mayWait()) return false;
    this.targets.set(target.id, target);
    return true;
  }

  takePools(pools: readonly PoolClock[]): boolean {
    if (!this.mayWait()) return false;
    for (const pool of pools) this.pools.set(poolName(pool), pool);
    return true;
  }

  /** At most one. */
  waitingOf(targetId: number): readonly PolledTarget[] {
    const waiting = this.targets.get(targetId);
    return waiting ? [waiting] : [];
  }

  /** A commit has a later one. */
  supersede(targetId: number): void {
    this.targets.delete(targetId);
  }

  supersedePools(pools: readonly PoolClock[]): void {
    for (const pool of pools) this.pools.delete(poolName(pool));
  }

  private mayWait(): boolean {
    if (!this.clock || !this.isWritable) return false;
    this.cancelTimer ??= this.clock.setTimer(clocksEveryMs, () => void this.writeInTime());
    return true;
  }

  async end(): Promise<void> {
    this.cancelTimer?.();
    await this.write();
  }

  private async writeInTime(): Promise<void> {
    await this.write();
    this.cancelTimer = null;
    if (this.clock && this.targets.size + this.pools.size > 0) {
      this.cancelTimer = this.clock.setTimer(clocksEveryMs, () => void this.writeInTime());
    }
  }

  private async write(): Promise<void> {
    let [targets, pools]: [Map<number, PolledTarget>, Map<string, PoolClock>] = [
      new Map(),
      new Map(),
    ];
    const writeNumbered: Parameters<SharedCommits["add"]>[0]["writeNumbered"] = async (trx) => {
      // Commits that were added before have superseded theirs.
      [targets, pools] = [new Map(this.targets), new Map(this.pools)];
      await writeClocks(trx, targets.values());
      await writePoolClocks(trx, pools.values());
    };
    try {
      const rows = this.targets.size + this.pools.size;
      if (rows > 0) await this.commits.add({ owner: null, rows, writeNumbered });
      this.isWritable = true;
    } catch (error) {
      if (this.isWritable) this.onFailed(error);
      this.isWritable = false;
      return;
    }
    deleteSame(this.targets, targets);
    deleteSame(this.pools, pools);
  }
}

/** Leaves what was replaced meanwhile. */
function deleteSame<Key, Value>(from: Map<Key, Value>, written: ReadonlyMap<Key, Value>): void {
  for (const [key, value] of written) if (from.get(key) === value) from.delete(key);
}

function poolName({ rule, region, key }: PoolClock): string {
  return JSON.stringify([rule, region, key]);
}
