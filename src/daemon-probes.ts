import type { Config } from "./config/config.ts";
import type { ProbeJudgeOptions } from "./core/judge-probe.ts";
import { isNotifiedAsDown } from "./core/matching.ts";
import { targetName } from "./core/model.ts";
import { subjectName } from "./core/probe.ts";
import type { WatchedView } from "./core/watched-view.ts";
import type { Metrics } from "./metrics/metrics.ts";
import type { Clock } from "./platform/clock.ts";
import type { Logger } from "./platform/logger.ts";
import type { Random } from "./platform/random.ts";
import type { KeyLimits } from "./polling/key-limits.ts";
import { createPersistentCall } from "./polling/persistent-call.ts";
import { intervalOf } from "./polling/ticker.ts";
import type { TickerDeps } from "./polling/ticker.ts";
import { createCallOperation } from "./probing/call-operation.ts";
import type { ProbedService } from "./probing/call-operation.ts";
import { admitOneByOne } from "./probing/one-by-one.ts";
import { createProbeSchedules } from "./probing/probe-schedules.ts";
import { createProbing } from "./probing/probing.ts";
import type { ProbingObserver } from "./probing/probing.ts";
import { createProbingLog } from "./probing/probing-log.ts";
import type { WatchedProbe } from "./probing/watched-probe.ts";
import type { Store } from "./store/store.ts";
import type { Watchdog } from "./watchdog.ts";

export interface DaemonProbes {
  /** Runs the probes from now on. */
  start(): void;
  /** Runs each once, outside its schedule. */
  runOnce(): Promise<void>;
  /** Ends the calls under way; resolves when no run is under way any more. */
  stop(): Promise<void>;
}

export interface DaemonProbesParts {
  readonly config: Config;
  readonly probes: readonly WatchedProbe[];
  readonly targets: readonly WatchedView[];
  readonly store: Store;
  readonly service: ProbedService;
  /** The very one that polls ask, too. */
  readonly limits: KeyLimits;
  readonly judge: ProbeJudgeOptions;
  readonly metrics: Metrics;
  readonly watchdog: Watchdog;
}

/** What is around the probes. */
export interface ProbeSurroundings {
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Logger;
  readonly ticking: TickerDeps;
  readonly onOutbox: () => void;
}

/** Each of what probing does, counted and logged. */
function observeProbing(metrics: Metrics, log: Logger): ProbingObserver {
  const lines = createProbingLog(log);
  return {
    ...lines,
    runFailed(subject, error) {
      metrics.targets.turnFailed();
      lines.runFailed(subject, error);
    },
  };
}

/** All that runs the probes. */
export function createDaemonProbes(
  parts: DaemonProbesParts,
  { clock, random, log, ticking, onOutbox }: ProbeSurroundings,
): DaemonProbes {
  const { config, probes, store, watchdog } = parts;
  const apiKeys = new Map(config.keys.map(({ name, apiKey }) => [name, apiKey]));
  const targets = new Map(parts.targets.map((each) => [targetName(each.target), each]));
  const limits = admitOneByOne(parts.limits, clock);
  const probing = createProbing({
    probes: probes.flatMap((watched) => {
      const apiKey = apiKeys.get(watched.subject.key);
      return apiKey ? [{ watched, apiKey }] : [];
    }),
    callOperation: createCallOperation(
      parts.service,
      createPersistentCall({ limits, clock, random }),
      clock,
    ),
    commit: (id, verdict) => store.probes.commitRun(id, verdict),
    judge: parts.judge,
    isTold: (target) =>
      isNotifiedAsDown(targets.get(targetName(target))?.state.incidents.values() ?? []),
    clock,
    observer: observeProbing(parts.metrics, log),
    onOutbox,
  });
  const schedules = createProbeSchedules({
    probes,
    clock,
    run: watchdog.watched("probes", subjectName, (...turn) => probing.run(...turn)),
    ticking,
  });
  return {
    start: () => schedules.start(),
    async runOnce() {
      const nowMs = clock.now().monotonicMs;
      await Promise.all(
        probes.map(({ subject, probe }) =>
          probing.run(subject, nowMs + intervalOf(probe.schedule)),
        ),
      );
    },
    stop() {
      probing.abort();
      return schedules.stop();
    },
  };
}
