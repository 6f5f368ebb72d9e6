import { setImmediate } from "node:timers/promises";
import type { Verdict } from "../core/judge.ts";
import { statuses } from "../core/model.ts";
import { unobservedMsOf } from "../core/occupancy/booking.ts";
import type { ChangeCursor } from "../core/snapshot/change-cursor.ts";
import type { PackedSnapshot } from "../core/snapshot/packed-snapshot.ts";
import type { WatchedView } from "../core/watched-view.ts";
import { BucketCounts } from "./bucket-counts.ts";
import { NameCounts } from "./name-counts.ts";
import { createSandboxFamilies, stayBounds } from "./sandbox-families.ts";
import type { SandboxCounts } from "./sandbox-families.ts";
import { keepForTargets } from "./target-family.ts";
import type { TargetFamily } from "./target-family.ts";

/** As many are counted in about a millisecond. */
const changesAtOnce = 8_192;

export interface SandboxMetrics {
  readonly families: readonly TargetFamily[];
  /** Counts what a committed verdict tells; `watched` already holds it. */
  committed(watched: WatchedView, verdict: Verdict): Promise<void>;
}

/** The aggregates over a target's servers: few series, whatever the number of servers. */
export function createSandboxMetrics(targets: readonly WatchedView[]): SandboxMetrics {
  const counts = keepForTargets<SandboxCounts>(targets, () => ({
    byName: new NameCounts(),
    stays: new BucketCounts(stayBounds, statuses.length),
    unobservedMs: 0,
  }));

  // The names come from the service, so their series start with the first server of that name.
  for (const { target, state } of targets) {
    const { byName } = counts.of(target);
    for (const { name } of state.snapshot.tallies()) byName.add(name);
  }

  return {
    families: createSandboxFamilies(targets, counts.all),
    async committed({ target, state }, { booking, changes }) {
      const counted = counts.of(target);
      const { byName } = counted;
      if (booking.observed) byName.bookAll(booking);
      counted.unobservedMs += unobservedMsOf(booking);
      if (changes.length === 0) return;
      const change = changes.walk();
      while (countChanges(counted, change, state.snapshot)) await setImmediate();
    },
  };
}

/** Apart from the turns: a loop within an asynchronous function is compiled anew for each poll. */
function countChanges(
  { byName, stays }: SandboxCounts,
  change: ChangeCursor,
  snapshot: PackedSnapshot,
): boolean {
  for (let left = changesAtOnce; left > 0; left--) {
    if (!change.next()) return false;
    const { serverName, fromNumber, toNumber, stayMs } = change;
    byName.countTransition(snapshot.aggregateName(serverName), fromNumber, toNumber);
    // Those that were absent are behind the statuses.
    if (stayMs !== null && fromNumber < statuses.length) {
      stays.observe(fromNumber, stayMs / 1_000);
    }
  }
  return true;
}
