import { configuredTargets } from "../config/configured-targets.ts";
import { targetName, type Target } from "../fleet/model.ts";
import { createRetryBudget, retryShare } from "../lib/retry.ts";
import type { Metrics } from "../metrics/metrics.ts";
import { createProbeUnits, type Answered } from "../polling/probe-unit.ts";
import { createPoolWatch } from "../polling/watched-pools.ts";
import { restorePools, restoreProbes, restoreTargets } from "../polling/restore.ts";
import { Runner } from "../polling/runner.ts";
import { createTargetUnits, type Listed } from "../polling/poll.ts";
import type { TargetUnitsDeps } from "../polling/poll.ts";
import { intervalOf } from "../polling/ticker.ts";
import type { WatchedProbe } from "../polling/watched-probe.ts";
import type { WatchedTarget } from "../polling/watched-target.ts";
import type { WatchedPools } from "../polling/watched-pools.ts";
import type { DaemonCalls } from "./daemon-calls.ts";
import type { DaemonCore } from "./daemon-core.ts";

/** The configured targets, pools and probes, as the store last knew them and as they are observed from then on. */
export interface WatchedFleet {
  readonly targets: readonly WatchedTarget[];
  readonly pools: WatchedPools;
  readonly probes: readonly WatchedProbe[];
  readonly find: (target: Target) => WatchedTarget | undefined;
}

export async function restoreFleet(core: DaemonCore): Promise<WatchedFleet> {
  const { config, store, clock, commits, suppressions } = core;
  const { schedule, staleAfter } = config.poll;
  const nowUtcMs = clock.now().utcMs;
  const judge = { ...core.judge, suppressions: suppressions.at(nowUtcMs) };
  const restoredForMs = staleAfter * intervalOf(schedule);
  const options = { judge, staleAfter, restoredForMs, nowUtcMs, commits };
  const configured = configuredTargets(config);
  const targets = await restoreTargets(store, configured, options);
  const pools = await restorePools(store, configured, options);
  const probes = await restoreProbes(store, config.probes, options);
  const byName = new Map(targets.map((each) => [targetName(each.target), each]));
  return { targets, pools, probes, find: (target) => byName.get(targetName(target)) };
}

interface FleetRunnersDeps extends DaemonCore, DaemonCalls {
  readonly fleet: WatchedFleet;
  readonly regions: TargetUnitsDeps["regions"];
  readonly metrics: Metrics["polls"];
}

/** Polls the targets and runs the probes. */
export function createFleetRunners(deps: FleetRunnersDeps) {
  const { config, fleet, clock, wakeAt, log } = deps;
  const running = { ...deps, ticking: { clock, wakeAt, log } };
  const { targets, pools, probes } = fleet;
  const { schedule } = config.poll;
  const watch = createPoolWatch({ ...deps, pools });
  const polls = createTargetUnits(targets, { ...deps, schedule, pools: watch });
  const unitOf = new Map(polls.map((unit) => [unit.name, unit]));
  const polling = new Runner<Listed>({ ...running, loop: "polls" }, polls);
  // Probes that fail leave polls their own budget.
  const budget = createRetryBudget(retryShare);
  const probing = new Runner<Answered>(
    { ...running, loop: "probes", budget },
    createProbeUnits(probes, { ...deps, targets }),
  );
  return {
    /** Polls a target at once. */
    pollNow: async (target: Target): Promise<void> => {
      const unit = unitOf.get(targetName(target));
      if (unit) await polling.runNow(unit);
    },
    start(): void {
      polling.start();
      probing.start();
    },
    pollOnce: (): Promise<void> => polling.runOnce(),
    probeOnce: (): Promise<void> => probing.runOnce(),
    /** Ends the calls in progress; resolves when the commits in progress have ended. */
    async stop(): Promise<void> {
      await Promise.all([probing.stop(), polling.stop()]);
    },
  };
}
