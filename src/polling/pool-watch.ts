import { judgeAndCommit, type CurrentSuppressions } from "../alerts/current-suppressions.ts";
import type { AlertOptions } from "../alerts/incident-engine.ts";
import type { Incident } from "../alerts/incident.ts";
import type { PoolClock, PoolOutcome } from "../alerts/judge-pools.ts";
import type { PoolScope } from "../alerts/pool.ts";
import { isFullyObserved, type TargetProgress } from "../alerts/target-state.ts";
import type { WatchedView } from "../alerts/target-view.ts";
import { targetName } from "../fleet/model.ts";
import type { Clock } from "../lib/clock.ts";
import type { Logger } from "../lib/logger.ts";
import { logIncidents } from "./incident-log.ts";
import { watchPools, type WatchedPools } from "./watched-pools.ts";

/** How often it is looked whether targets were polled. */
const lookEveryMs = 1_000;

export interface PoolWatchDeps {
  /** Those that it may own. */
  readonly scopes: readonly PoolScope[];
  readonly fleet: {
    /** Each target stays at its place. */
    readonly all: { readonly targets: readonly WatchedView[] };
    readonly refresh: () => Promise<void>;
  };
  readonly store: {
    readonly incidentsWithoutTarget: { open(): Promise<readonly Incident[]> };
    readonly targets: { poolClocks(): Promise<readonly PoolClock[]> };
    commitPools(scope: string, outcome: PoolOutcome): Promise<void>;
  };
  readonly judge: Omit<AlertOptions, "suppressions">;
  readonly suppressions: CurrentSuppressions;
  readonly notifier: { wake(causedAtMs: number): void };
  /** Asked before each commit. */
  readonly isHeld: () => boolean;
  /** Of polls. Milliseconds. */
  readonly intervalMs: number;
  readonly clock: Clock;
  readonly log: Logger;
}

/** Pools that this process judges. */
interface OwnedPools {
  readonly scope: PoolScope;
  readonly pools: WatchedPools;
  /** The progress of each target when the pools were last judged by it. */
  readonly judgedBy: Map<string, TargetProgress>;
  clocksKeptMs: number;
  /** Whether incidents that a changed rule does not own any more were ended. */
  isRetired: boolean;
  hasFailed: boolean;
}

/** Clocks that were set by less are no gap. */
const leastGapMs = 1_000;

/** Whether some of the time between two polls was not observed: polls are missing, as while a target moves. */
function hasGap(before: TargetProgress, after: TargetProgress): boolean {
  const passedMs = (after.lastPollAtMs ?? 0) - (before.lastPollAtMs ?? 0);
  return passedMs - (after.observed.ms - before.observed.ms) >= leastGapMs;
}

export type PoolWatch = ReturnType<typeof createPoolWatch>;

/**
 * Judges pools whose targets may have different keys, so that several processes may poll them: from what is committed of
 * these targets. One process at a time owns such pools.
 */
export function createPoolWatch(deps: PoolWatchDeps) {
  const { fleet, store, judge, suppressions, notifier, isHeld, intervalMs, clock, log } = deps;
  const known = new Map(deps.scopes.map((scope) => [scope.name, scope]));
  const places = new Map(
    fleet.all.targets.map(({ target }, place) => [targetName(target), place] as const),
  );
  const owned = new Map<string, OwnedPools>();
  let cancelTimer: (() => void) | null = null;
  let running = Promise.resolve();
  let drops = 0;

  const restore = (
    scope: PoolScope,
    openIncidents: readonly Incident[],
    clocks: readonly PoolClock[],
  ): OwnedPools => {
    const pools = watchPools({
      rules: [scope.rule],
      targets: scope.targets,
      openIncidents,
      clocks,
    });
    const clocksKeptMs = -Infinity;
    return { scope, pools, judgedBy: new Map(), clocksKeptMs, isRetired: false, hasFailed: false };
  };

  const isOwned = (each: OwnedPools): boolean => isHeld() && owned.get(each.scope.name) === each;

  /** Judges and commits, unless another process may own the pools by now. */
  const commit = async (
    each: OwnedPools,
    judgeBy: (options: AlertOptions) => ReturnType<WatchedPools["judge"]>,
  ): Promise<void> => {
    const { scope, pools } = each;
    const verdict = await judgeAndCommit(suppressions, async (current) => {
      const judged = judgeBy({ ...judge, suppressions: current.at(clock.now().utcMs) });
      if (!isOwned(each)) return null;
      await store.commitPools(scope.name, judged.outcome);
      return judged;
    });
    if (verdict === null) return;
    pools.accept(verdict);
    each.clocksKeptMs = clock.now().monotonicMs;
    const { incidents } = verdict.outcome;
    if (incidents.outbox.length > 0) notifier.wake(clock.now().utcMs);
    await logIncidents(log, null, incidents);
  };

  const judgeNow = async (each: OwnedPools): Promise<void> => {
    const { scope, pools, judgedBy } = each;
    if (!each.isRetired) {
      const retire = (options: AlertOptions) => pools.retire(clock.now().utcMs, options);
      const retired = retire({ ...judge, suppressions: suppressions.at(clock.now().utcMs) });
      if (retired.outcome.incidents.steps.length > 0) await commit(each, retire);
      each.isRetired = true;
    }
    // As of one moment: polls are committed while these are judged.
    const observations = scope.targets.flatMap((target) => {
      const view = fleet.all.targets[places.get(targetName(target)) ?? -1];
      if (!view) return [];
      const { up, polled, state } = view;
      const { progress, snapshot } = state;
      // One that was restored is up by what is stored of it, however old that is.
      const isObserved = up && polled;
      const before = judgedBy.get(targetName(target));
      return { target, progress, snapshot, isObserved, before };
    });
    // Nobody polls them at present or has polled them yet, their last polls failed, or polls before these are missing.
    // First of all, as nothing is decided then.
    for (const { target, progress, isObserved, before } of observations) {
      if (!isObserved || (before && hasGap(before, progress))) pools.lose(target);
    }
    for (const { target, progress, snapshot, isObserved, before } of observations) {
      if (before === progress) continue;
      const at = clock.now();
      const observation = { target, at, snapshot, whole: isObserved && isFullyObserved(progress) };
      const judgeBy = (options: AlertOptions) => pools.judge(observation, options);
      const judged = judgeBy({ ...judge, suppressions: suppressions.at(at.utcMs) });
      const { incidents, clocks } = judged.outcome;
      const hasChanged = incidents.written.length + incidents.dropped.length > 0;
      const areClocksDue = clocks.length > 0 && at.monotonicMs - each.clocksKeptMs >= intervalMs;
      if (hasChanged || areClocksDue) await commit(each, judgeBy);
      else pools.accept(judged);
      judgedBy.set(targetName(target), progress);
    }
  };

  const look = async (): Promise<void> => {
    cancelTimer?.();
    if (owned.size === 0) return;
    await fleet.refresh();
    for (const each of owned.values()) {
      if (!isOwned(each)) continue;
      try {
        await judgeNow(each);
        each.hasFailed = false;
      } catch (err) {
        const { scope, pools, judgedBy } = each;
        for (const target of scope.targets) pools.lose(target);
        judgedBy.clear();
        if (each.hasFailed) continue;
        each.hasFailed = true;
        log.error(
          { event: "pool.failed", pool: scope.name, err },
          `pools of ${scope.name} could not be judged; this is logged again only after they were`,
        );
      }
    }
    cancelTimer = clock.setTimer(lookEveryMs, () => void runOnce());
  };

  const runOnce = (): Promise<void> => (running = running.then(look));

  return {
    /** Judges the pools of these scopes from now on. */
    async gain(scopes: readonly string[]): Promise<void> {
      const dropsBefore = drops;
      const [open, clocks] = await Promise.all([
        store.incidentsWithoutTarget.open(),
        store.targets.poolClocks(),
      ]);
      if (drops !== dropsBefore) return;
      for (const name of scopes) {
        const scope = known.get(name);
        if (scope) owned.set(name, restore(scope, open, clocks));
      }
      void runOnce();
    },
    /** Ends that, after what is in progress was committed. */
    async giveUp(scopes: readonly string[]): Promise<void> {
      await running;
      for (const name of scopes) owned.delete(name);
    },
    /** Another process may own all of them: ends it without writing. Resolves when what is in progress has ended. */
    async dropAll(): Promise<void> {
      drops += 1;
      owned.clear();
      cancelTimer?.();
      await running;
    },
    runOnce,
    async stop(): Promise<void> {
      await running;
      cancelTimer?.();
    },
  };
}
