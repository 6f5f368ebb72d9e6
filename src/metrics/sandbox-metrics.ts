import type { Verdict } from "../core/judge.ts";
import { statuses } from "../core/model.ts";
import { unobservedMsOf } from "../core/occupancy/booking.ts";
import type { WatchedView } from "../core/watched-view.ts";
import { BucketCounts } from "./bucket-counts.ts";
import { NameCounts } from "./name-counts.ts";
import { createSandboxFamilies, stayBounds } from "./sandbox-families.ts";
import type { SandboxCounts } from "./sandbox-families.ts";
import { keepForTargets } from "./target-family.ts";
import type { TargetFamily } from "./target-family.ts";

export interface SandboxMetrics {
  readonly families: readonly TargetFamily[];
  /** Counts what a committed verdict tells; `watched` already holds it. */
  committed(watched: WatchedView, verdict: Verdict): void;
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
    committed({ target }, { booking, counts: changes }) {
      const counted = counts.of(target);
      const { byName, stays } = counted;
      if (booking.observed) byName.bookAll(booking);
      counted.unobservedMs += unobservedMsOf(booking);
      for (const [name, transitions] of changes.transitions) {
        byName.countTransitions(name, transitions);
      }
      for (const [status, byMs] of changes.stays.entries()) {
        for (const [ms, count] of byMs) stays.observe(status, ms / 1_000, count);
      }
    },
  };
}
