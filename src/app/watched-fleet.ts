import type { JudgeOptions } from "../alerts/judge.ts";
import type { Config } from "../config/config.ts";
import { configuredTargets } from "../config/configured-targets.ts";
import { targetName, type Target } from "../fleet/model.ts";
import type { Clock } from "../lib/clock.ts";
import { createRetryBudget, retryShare, type RetryBudget } from "../lib/retry.ts";
import type { CommitLoop } from "../polling/commit-loop.ts";
import { createProbeUnits, type Answered, type ProbeDecision } from "../polling/probe-unit.ts";
import { createPoolWatch } from "../polling/pool-watch.ts";
import { restorePools, restoreProbes, restoreTargets } from "../polling/restore.ts";
import { Runner, type RunnerDeps } from "../polling/runner.ts";
import { createTargetUnits, type Listed, type PollDecision } from "../polling/poll.ts";
import type { TargetUnitsDeps } from "../polling/poll.ts";
import { intervalOf } from "../polling/ticker.ts";
import type { WatchedProbe } from "../polling/watched-probe.ts";
import type { WatchedTarget } from "../polling/watched-target.ts";
import type { WatchedPools } from "../polling/watched-pools.ts";
import type { ServiceClient } from "../service/client.ts";
import type { Store } from "../store/store.ts";

/** The configured targets, pools and probes, as the store last knew them and as they are observed from then on. */
export interface WatchedFleet {
  readonly targets: readonly WatchedTarget[];
  readonly pools: WatchedPools;
  readonly probes: readonly WatchedProbe[];
  readonly find: (target: Target) => WatchedTarget | undefined;
}

interface RestoreDeps {
  readonly config: Config;
  readonly store: Store;
  readonly judge: JudgeOptions;
  readonly clock: Clock;
  readonly commits: CommitLoop;
}

export async function restoreFleet(deps: RestoreDeps): Promise<WatchedFleet> {
  const { config, store, judge, clock, commits } = deps;
  const { schedule, staleAfter } = config.poll;
  const restoredForMs = staleAfter * intervalOf(schedule);
  const options = { judge, staleAfter, restoredForMs, nowUtcMs: clock.now().utcMs, commits };
  const configured = configuredTargets(config);
  const targets = await restoreTargets(store, configured, options);
  const pools = await restorePools(store, configured, options);
  const probes = await restoreProbes(store, config.probes, options);
  const byName = new Map(targets.map((each) => [targetName(each.target), each]));
  return { targets, pools, probes, find: (target) => byName.get(targetName(target)) };
}

interface FleetRunnersDeps extends Omit<TargetUnitsDeps, "pools" | "schedule"> {
  readonly config: Config;
  readonly store: Store;
  readonly service: ServiceClient;
  readonly fleet: WatchedFleet;
  readonly running: Omit<RunnerDeps, "loop" | "budget">;
  /** Of polls. */
  readonly budget: RetryBudget;
}

/** Polls the targets and runs the probes. */
export function createFleetRunners(deps: FleetRunnersDeps) {
  const { config, fleet, running, budget } = deps;
  const polling = new Runner<Listed, PollDecision>({ ...running, loop: "polls", budget });
  const probing = new Runner<Answered, ProbeDecision>({
    ...running,
    loop: "probes",
    budget: createRetryBudget(retryShare),
  });
  const { targets, pools, probes } = fleet;
  const { schedule } = config.poll;
  const watch = createPoolWatch({ ...deps, pools });
  const polls = createTargetUnits(targets, { ...deps, schedule, pools: watch });
  const unitOf = new Map(polls.map((unit) => [unit.name, unit]));
  polling.add(polls);
  probing.add(createProbeUnits(probes, { ...deps, targets }));
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
