import type { Verdict } from "../core/judge.ts";
import type { WatchedView } from "../core/watched-view.ts";
import { unobservedMsOf } from "../fleet/accounting.ts";
import { statuses } from "../fleet/status.ts";
import { aggregateName } from "../fleet/tallies.ts";
import { BucketCounts } from "./bucket-counts.ts";
import { NameCounts } from "./name-counts.ts";
import { createSandboxFamilies, dwellBounds } from "./sandbox-families.ts";
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
    dwells: new BucketCounts(dwellBounds, statuses.length),
    unobservedMs: 0,
  }));

  // The names come from the service, so their series start with the first server of that name.
  for (const { target, state } of targets) {
    const { byName } = counts.of(target);
    for (const name of state.snapshot.tallies.names.keys()) byName.add(name);
  }

  return {
    families: createSandboxFamilies(targets, counts.all),
    committed({ target }, { stretch, diff, snapshot }) {
      const counted = counts.of(target);
      const { byName, dwells } = counted;
      if (stretch.observed) byName.addTime(stretch);
      counted.unobservedMs += unobservedMsOf(stretch);
      for (const change of diff.changes) {
        const { before, after, dwellMs } = change;
        byName.countChange(
          aggregateName(snapshot.tallies, (after ?? before)?.name ?? null),
          change,
        );
        if (before && dwellMs !== null) {
          dwells.observe(statuses.indexOf(before.status), dwellMs / 1_000);
        }
      }
    },
  };
}
