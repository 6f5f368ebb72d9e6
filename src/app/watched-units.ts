import type { JudgeOptions } from "../alerts/judge.ts";
import type { PoolScope } from "../alerts/pool.ts";
import { unitOfKey, unitOfPool, unitOfReceiver } from "../cluster/assignment.ts";
import { unitOfRegion, upkeepUnit } from "../cluster/assignment.ts";
import type { OwnedWork } from "../cluster/ownership.ts";
import type { Config } from "../config/config.ts";
import { configuredTargets } from "../config/configured-targets.ts";
import { targetName, type Target } from "../fleet/model.ts";
import type { KeyLimits } from "../polling/key-limits.ts";
import { createProbeUnits, type Answered, type ProbeDecision } from "../polling/probe-unit.ts";
import type { ProbeUnitsDeps } from "../polling/probe-unit.ts";
import { restorePools, restoreProbes, restoreTargets } from "../polling/restore.ts";
import type { RegionWatch } from "../polling/region-watch.ts";
import type { PoolWatch } from "../polling/pool-watch.ts";
import { createRunner, type RunnerDeps, type Unit } from "../polling/runner.ts";
import { createTargetUnits, type Listed, type PollDecision } from "../polling/target-unit.ts";
import { intervalOf } from "../polling/ticker.ts";
import { delay } from "../lib/clock.ts";
import { createRetryBudget, retryShare, type RetryBudget } from "../lib/retry.ts";
import { BusyError } from "../lib/refused-error.ts";
import type { Store } from "../store/store.ts";
import type { FleetView } from "./fleet-view.ts";
import { loopsByUnit } from "./watch-loops.ts";
import type { Watchdog } from "./watchdog.ts";

type PollUnit = Unit<Listed, PollDecision>;
type ProbeUnit = Unit<Answered, ProbeDecision>;

export interface WatchedUnitsDeps extends Omit<ProbeUnitsDeps, "targets" | "regions" | "metrics"> {
  readonly config: Config;
  readonly store: Store;
  readonly judge: Omit<JudgeOptions, "suppressions">;
  readonly metrics: Parameters<typeof createTargetUnits>[1]["metrics"];
  readonly fleet: FleetView;
  readonly running: Omit<RunnerDeps, "loop" | "budget"> & { readonly limits: KeyLimits };
  /** Of polls. */
  readonly budget: RetryBudget;
  readonly regions: RegionWatch;
  readonly poolWatch: PoolWatch;
  /** The pools that are judged apart from polls. */
  readonly poolsApart: readonly PoolScope[];
  /** The store has refused a poll, as another replica has written its target. */
  readonly onFenced: () => void;
  readonly delivery: {
    gain(receivers: readonly string[]): void;
    giveUp(receivers: readonly string[]): Promise<void>;
    drop(): Promise<void>;
  };
  /** What is done once for the whole store. */
  readonly upkeep: { prepare(): Promise<void>; begin(): void; end(): Promise<void> };
  readonly watchdog: Pick<Watchdog, "watch" | "unwatch">;
}

/** Keys whose limit is for longer periods are handed over earlier, rather than not being polled for that long. */
const longestRestMs = 2_000;

/** A key has usually moved within this time. */
const movingMs = 2_000;

/** What is done for each unit: it begins when this process gains the unit, and ends when it gives the unit up. */
export function createWatchedUnits(deps: WatchedUnitsDeps) {
  const { config, store, fleet, judge, suppressions, log, clock } = deps;
  const { running, budget, regions, poolWatch, delivery, upkeep, watchdog } = deps;
  const { limits, isHeld = () => true } = running;
  const polling = createRunner<Listed, PollDecision>({ ...running, loop: "polls", budget });
  const probing = createRunner<Answered, ProbeDecision>({
    ...running,
    loop: "probes",
    budget: createRetryBudget(retryShare),
  });
  const poolNames = deps.poolsApart.map(({ name }) => name);
  const { schedule, staleAfter } = config.poll;
  const configured = configuredTargets(config);
  const loops = loopsByUnit(config);
  const pollUnits = new Map<string, PollUnit>();
  const probeUnits = new Set<ProbeUnit>();
  /** The units whose work has begun. */
  const begun = new Set<string>();
  /** Replaced when everything is dropped: what is being gained meanwhile does not begin. */
  let era = {};

  const namesOf = (units: readonly string[]) => {
    const some = new Set(units);
    const { keys, alerts } = config;
    return {
      keys: new Set(keys.map(({ name }) => name).filter((name) => some.has(unitOfKey(name)))),
      receivers: alerts.receivers
        .map(({ name }) => name)
        .filter((name) => some.has(unitOfReceiver(name))),
      regions: [...config.regions.keys()].filter((name) => some.has(unitOfRegion(name))),
      pools: poolNames.filter((name) => some.has(unitOfPool(name))),
      hasUpkeep: some.has(upkeepUnit),
    };
  };

  const restoreKeys = async (keys: ReadonlySet<string>) => {
    const nowUtcMs = clock.now().utcMs;
    const restoring = {
      // What ends because it is not configured any more does so whatever is silenced.
      judge: { ...judge, suppressions: { ...suppressions.at(nowUtcMs), version: null } },
      staleAfter,
      restoredForMs: staleAfter * intervalOf(schedule),
      nowUtcMs,
      log,
    };
    const wanted = configured.filter(({ key }) => keys.has(key));
    const targets = await restoreTargets(store, wanted, restoring);
    const pools = await restorePools(store, wanted, {
      ...restoring,
      except: new Set(poolNames),
    });
    const probes = await restoreProbes(store, config.probes, keys, restoring);
    return { targets, pools, probes };
  };

  const beginKeys = ({ targets, pools, probes }: Awaited<ReturnType<typeof restoreKeys>>): void => {
    fleet.gain({ targets, probes });
    const polls = createTargetUnits(targets, { ...deps, schedule, pools });
    for (const unit of polls) pollUnits.set(unit.name, unit);
    polling.add(polls);
    const runs = createProbeUnits(probes, { ...deps, targets });
    for (const unit of runs) probeUnits.add(unit);
    probing.add(runs);
  };

  const endKeys = async (keys: ReadonlySet<string>): Promise<void> => {
    const isOfKeys = ({ target }: PollUnit | ProbeUnit): boolean => keys.has(target.key);
    const polls = [...pollUnits.values()].filter(isOfKeys);
    const runs = [...probeUnits].filter(isOfKeys);
    await Promise.all([polling.remove(polls), probing.remove(runs)]);
    for (const unit of polls) pollUnits.delete(unit.name);
    for (const unit of runs) probeUnits.delete(unit);
    fleet.drop(keys);
    // The next replica does not know what was sent.
    if (config.cluster) await delay(clock, Math.min(longestRestMs, limits.restMs(keys)));
  };

  const unwatch = (units: Iterable<string>): void => {
    for (const unit of units) {
      for (const [loop, name] of loops.get(unit) ?? []) watchdog.unwatch(loop, name);
    }
  };

  const work: OwnedWork = {
    async gain(units) {
      const began = era;
      const isDropped = (): boolean => began !== era;
      const { keys, receivers, pools, regions: ownRegions, hasUpkeep } = namesOf(units);
      const restored = keys.size > 0 ? await restoreKeys(keys) : null;
      if (hasUpkeep) await upkeep.prepare();
      if (isDropped()) return;
      // Before any poll of this process.
      if (ownRegions.length > 0) await regions.gain(ownRegions);
      if (keys.size > 0) await regions.follow();
      if (isDropped()) return;
      if (pools.length > 0) await poolWatch.gain(pools);
      if (isDropped()) return;
      if (restored) beginKeys(restored);
      delivery.gain(receivers);
      if (hasUpkeep) upkeep.begin();
      for (const unit of units) {
        begun.add(unit);
        for (const loop of loops.get(unit) ?? []) watchdog.watch(...loop);
      }
    },
    async giveUp(units) {
      const { keys, receivers, pools, regions: ownRegions, hasUpkeep } = namesOf(units);
      unwatch(units);
      await Promise.all([
        keys.size > 0 && endKeys(keys),
        ownRegions.length > 0 && regions.giveUp(ownRegions),
        pools.length > 0 && poolWatch.giveUp(pools),
        receivers.length > 0 && delivery.giveUp(receivers),
        hasUpkeep && upkeep.end(),
      ]);
      for (const unit of units) begun.delete(unit);
    },
    async dropAll() {
      era = {};
      unwatch(begun);
      begun.clear();
      pollUnits.clear();
      probeUnits.clear();
      const ended = [
        poolWatch.dropAll(),
        polling.drop(),
        probing.drop(),
        regions.giveUp(config.regions.keys()),
        delivery.drop(),
        upkeep.end(),
      ];
      fleet.drop(new Set(config.keys.map(({ name }) => name)));
      await Promise.allSettled(ended);
    },
  };

  const ownUnit = (target: Target): PollUnit => {
    const unit = pollUnits.get(targetName(target));
    if (unit && isHeld()) return unit;
    const reason = `The target ${targetName(target)} is moving to another replica. Ask again in a few seconds.`;
    throw new BusyError(reason, movingMs, "unavailable");
  };

  return {
    work,
    /** @throws {BusyError} when this process does not poll the target at present */
    assertOwned: (target: Target): void => void ownUnit(target),
    /** Polls a target at once. @throws {BusyError} when this process does not poll it at present */
    pollNow: async (target: Target): Promise<void> => polling.runNow(ownUnit(target)),
    start(): void {
      polling.start();
      probing.start();
    },
    pollOnce: (): Promise<void> => polling.runOnce(),
    probeOnce: (): Promise<void> => probing.runOnce(),
    /** Ends the calls in progress; resolves when the commits in progress have ended. */
    async stop(): Promise<void> {
      await probing.stop();
      await polling.stop();
      await poolWatch.stop();
      await regions.stop();
    },
  };
}
