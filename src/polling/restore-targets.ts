import { retireIncidents } from "../core/judge.ts";
import type { JudgeOptions } from "../core/judge.ts";
import type { IncidentOutcome } from "../core/incident-ledger.ts";
import { holdIncidents } from "../core/open-incidents.ts";
import { targetName } from "../core/model.ts";
import type { Target } from "../core/model.ts";
import { phaseOf } from "../core/schedule.ts";
import type { Snapshot } from "../fleet/snapshot.ts";
import { watchTarget } from "./watched-target.ts";
import type { RestoredTarget, WatchedTarget, WatchOptions } from "./watched-target.ts";

/** What restoring needs of the store. */
export interface TargetStore {
  readonly targets: {
    all(): Promise<readonly RestoredTarget[]>;
    addAll(targets: readonly Target[]): Promise<readonly RestoredTarget[]>;
    snapshotOf(targetId: number): Promise<Snapshot>;
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
  const stored = new Map<string, RestoredTarget>();
  const keep = (restored: readonly RestoredTarget[]): void => {
    for (const each of restored) stored.set(targetName(each.target), each);
  };
  keep(await store.targets.all());
  const unknown = new Map(configured.map((target) => [targetName(target), target]));
  for (const name of stored.keys()) unknown.delete(name);
  if (unknown.size > 0) keep(await store.targets.addAll(inTurn([...unknown.values()])));
  /** Gives the target with the incidents that go on. */
  const retire = async (restored: RestoredTarget, judge: JudgeOptions): Promise<RestoredTarget> => {
    const { id, target, openIncidents, flaps } = restored;
    const held = holdIncidents(openIncidents, flaps);
    const retired = retireIncidents({ target, ...held }, options.nowUtcMs, judge);
    if (retired.steps.length === 0 && retired.flaps.length === 0) return restored;
    await store.commitIncidents(id, retired);
    options.onRetired(target, retired);
    held.takeOn(retired);
    return {
      ...restored,
      openIncidents: [...held.incidents.values()],
      flaps: [...held.flaps.values()],
    };
  };

  const watched: WatchedTarget[] = [];
  for (const target of configured) {
    const known = stored.get(targetName(target));
    // Named twice, it is watched once.
    if (!known) continue;
    stored.delete(targetName(target));
    const restored = await retire(known, options.judge);
    watched.push(watchTarget(restored, await store.targets.snapshotOf(restored.id), options));
  }
  for (const abandoned of stored.values()) await retire(abandoned, { ...options.judge, rules: [] });
  return watched;
}

/** Those whose polls are committed together are then stored together, and few pages are written. */
function inTurn(targets: readonly Target[]): readonly Target[] {
  const phase = (target: Target): number => phaseOf(targetName(target));
  return targets.toSorted((one, other) => phase(one) - phase(other));
}
