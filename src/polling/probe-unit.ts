import { judgeProbe } from "../alerts/judge-probe.ts";
import type { ProbeJudgeOptions, ProbeVerdict } from "../alerts/judge-probe.ts";
import { isNotifiedAsDown } from "../alerts/incident.ts";
import type { ProbeOutcome } from "../alerts/probe.ts";
import { targetName } from "../fleet/model.ts";
import { subjectName } from "../alerts/probe.ts";
import type { WatchedView } from "../alerts/watched-view.ts";
import type { Metrics } from "../metrics/metrics.ts";
import type { Clock } from "../lib/clock.ts";
import type { Logger } from "../lib/logger.ts";
import type { Secret } from "../lib/secret.ts";
import type { ServiceClient } from "../service/client.ts";
import { logIncidents } from "./incident-log.ts";
import { callProbe } from "./probe-call.ts";
import type { Answered } from "./probe-call.ts";
import type { Outcome, Unit } from "./runner.ts";
import type { WatchedProbe } from "./watched-probe.ts";

export type ProbeUnit = Unit<Answered, ProbeVerdict>;

export interface ProbeUnitsDeps {
  readonly apiKeys: ReadonlyMap<string, Secret>;
  readonly targets: readonly WatchedView[];
  readonly service: Pick<ServiceClient, "listSandboxes" | "look">;
  readonly judge: ProbeJudgeOptions;
  readonly store: {
    readonly probes: { commitRun(id: number, verdict: ProbeVerdict): Promise<void> };
  };
  /** Sends what a commit put into the outbox. */
  readonly notifier: { wake(causedAtMs: number): void };
  readonly metrics: Pick<Metrics["polls"], "lost">;
  readonly log: Logger;
  readonly clock: Clock;
}

/** The probes as the runner runs them. One whose key is not configured is not run. */
export function createProbeUnits(
  probes: readonly WatchedProbe[],
  deps: ProbeUnitsDeps,
): readonly ProbeUnit[] {
  const { service, judge, store, notifier, metrics, log, clock } = deps;
  const targets = new Map(deps.targets.map((each) => [targetName(each.target), each]));

  return probes.flatMap((watched): ProbeUnit[] => {
    const { probe, subject } = watched;
    const { region, key } = subject;
    const apiKey = deps.apiKeys.get(key);
    if (!apiKey) return [];
    const name = subjectName(subject);
    const target = { region, key };

    const unit: ProbeUnit = {
      name,
      target,
      apiKey,
      schedule: probe.schedule,
      order: "one_by_one",
      expectedStatus: probe.expect.status,
      call: (attempt) => callProbe(service, probe, { ...attempt, region, apiKey }),

      decide(outcome, { calledMs, endedMs }) {
        const durationMs = calledMs === null ? null : endedMs - calledMs;
        const run = { outcome: toProbeOutcome(outcome), durationMs };
        const ofTarget = targets.get(targetName(target))?.state.incidents.values() ?? [];
        const verdict = judgeProbe(
          watched.state,
          run,
          clock.now(),
          judge,
          isNotifiedAsDown(ofTarget),
        );
        return Promise.resolve(verdict);
      },

      async commit(verdict) {
        const { lostRuns } = watched;
        await store.probes.commitRun(watched.id, verdict);
        watched.accept(verdict);
        if (verdict.incidents.outbox.length > 0) notifier.wake(verdict.at.utcMs);
        await logRun(log, watched, verdict, lostRuns);
      },

      lose(err) {
        watched.loseRun();
        metrics.lost();
        if (watched.lostRuns > 1) return;
        log.error(
          { event: "probe.lost", probe: probe.name, region, key, err },
          `a run of probe ${name} was lost; this is logged again only after one was stored`,
        );
      },
    };
    return [unit];
  });
}

/** One line for each probe that begins to fail or succeeds again, and for each step of an incident. */
async function logRun(
  log: Logger,
  { subject, operation }: WatchedProbe,
  { turn, result, incidents }: ProbeVerdict,
  lostRuns: number,
): Promise<void> {
  const name = subjectName(subject);
  const { probe, region, key } = subject;
  const fields = { probe, region, key, operation };
  if (lostRuns > 0) {
    log.info(
      { event: "probe.kept", ...fields, lost_runs: lostRuns },
      `runs of probe ${name} are stored again; ${lostRuns} were lost`,
    );
  }
  if (turn === "failed" && result) {
    const { reason, detail } = result;
    log.warn(
      { event: "probe.failed", ...fields, reason, detail },
      `probe ${name} fails: ${detail ?? reason}`,
    );
  } else if (turn === "recovered") {
    log.info({ event: "probe.recovered", ...fields }, `probe ${name} succeeds again`);
  }
  await logIncidents(log, null, incidents);
}

function toProbeOutcome(outcome: Outcome<Answered>): ProbeOutcome {
  return outcome.kind === "ok" ? outcome.outcome : outcome;
}
