import { retireIncidents } from "../core/judge.ts";
import type { JudgeOptions } from "../core/judge.ts";
import type { IncidentOutcome } from "../core/incident-ledger.ts";
import { targetName } from "../core/model.ts";
import type { Target } from "../core/model.ts";
import type { SnapshotDelta } from "../core/snapshot.ts";
import { watchTarget } from "./watched-target.ts";
import type { RestoredTarget, WatchedTarget, WatchOptions } from "./watched-target.ts";

/** What restoring needs of the store. */
export interface TargetStore {
  readonly targets: {
    all(): Promise<readonly RestoredTarget[]>;
    add(target: Target): Promise<RestoredTarget>;
    snapshotOf(targetId: number): Promise<SnapshotDelta>;
  };
  commitIncidents(targetId: number, incidents: IncidentOutcome): Promise<void>;
}

export interface RestoreOptions extends WatchOptions {
  readonly judge: JudgeOptions;
  readonly onRetired: (target: Target, outcome: IncidentOutcome) => void;
}

/**
 * The configured targets as the store last knew them. Incidents that no rule owns any more are
 * ended, also those of targets that the configuration does not name any more.
 */
export async function restoreTargets(
  store: TargetStore,
  configured: readonly Target[],
  options: RestoreOptions,
): Promise<readonly WatchedTarget[]> {
  const stored = new Map(
    (await store.targets.all()).map((restored) => [targetName(restored.target), restored]),
  );
  const restore = async (restored: RestoredTarget, judge: JudgeOptions): Promise<WatchedTarget> => {
    const watched = watchTarget(restored, await store.targets.snapshotOf(restored.id), options);
    const retired = retireIncidents(watched.state, options.nowUtcMs, judge);
    if (retired.steps.length > 0) {
      await store.commitIncidents(restored.id, retired);
      watched.acceptIncidents(retired);
      options.onRetired(restored.target, retired);
    }
    return watched;
  };

  const watched: WatchedTarget[] = [];
  for (const target of configured) {
    const known = stored.get(targetName(target)) ?? (await store.targets.add(target));
    stored.delete(targetName(target));
    watched.push(await restore(known, options.judge));
  }
  for (const abandoned of stored.values()) {
    if (abandoned.openIncidents.length > 0)
      await restore(abandoned, { ...options.judge, rules: [] });
  }
  return watched;
}
