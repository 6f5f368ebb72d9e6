import { judgeProbe } from "../alerts/judge-probe.ts";
import type { ProbeJudgeOptions, ProbeVerdict } from "../alerts/judge-probe.ts";
import type { CurrentSuppressions } from "../alerts/silence.ts";
import { isNotifiedAsDown } from "../alerts/incident.ts";
import { regionInhibitors } from "../alerts/recipients.ts";
import type { Rule } from "../alerts/rule.ts";
import { fieldAt } from "../alerts/probe-expectation.ts";
import { subjectName } from "../alerts/probe.ts";
import type { Probe, ProbeOutcome } from "../alerts/probe.ts";
import type { WatchedView } from "../alerts/target-view.ts";
import type { Deviation } from "../fleet/deviation.ts";
import type { Drift } from "../fleet/drift.ts";
import { targetName } from "../fleet/model.ts";
import type { Operation, Target } from "../fleet/model.ts";
import { emptySnapshot } from "../fleet/snapshot.ts";
import type { Metrics } from "../metrics/metrics.ts";
import type { Clock } from "../lib/clock.ts";
import type { Logger, LogLine } from "../lib/logger.ts";
import type { Secret } from "../lib/secret.ts";
import type { Call, ServiceClient } from "../service/client.ts";
import type { CallFailure } from "../service/failure.ts";
import type { Store } from "../store/store.ts";
import type { CommitLoop } from "./commit-loop.ts";
import type { Unit } from "./runner.ts";
import type { WatchedProbe } from "./watched-probe.ts";

type ProbeService = Pick<ServiceClient, "listSandboxes" | "look">;
type ReadOutcome = Extract<ProbeOutcome, { readonly kind: "read" }>;

export interface Answered {
  readonly kind: "ok";
  readonly outcome: ReadOutcome;
  readonly deviations: readonly Deviation[];
}

export interface ProbeUnitsDeps {
  readonly apiKeys: ReadonlyMap<string, Secret>;
  readonly targets: readonly WatchedView[];
  readonly service: ProbeService;
  readonly recordDrift: (drift: Drift) => void;
  readonly judge: Omit<ProbeJudgeOptions, "suppressions">;
  readonly suppressions: CurrentSuppressions;
  readonly store: { readonly probes: Pick<Store["probes"], "commitRun"> };
  readonly commits: Pick<CommitLoop, "commit" | "publish">;
  readonly metrics: Pick<Metrics["polls"], "lost">;
  readonly log: Logger;
  readonly clock: Clock;
}

/** The probes as the runner runs them. One whose key is not configured is not run. */
export function createProbeUnits(
  probes: readonly WatchedProbe[],
  deps: ProbeUnitsDeps,
): readonly Unit<Answered>[] {
  const { service, recordDrift, judge, suppressions, store, commits, metrics, log, clock } = deps;
  const targets = new Map(deps.targets.map((each) => [targetName(each.target), each]));
  /** The region may be notified as down before it fires that the target is. */
  const isOfRegionDown = (target: Target): boolean => {
    const state = targets.get(targetName(target))?.state;
    if (!state || state.progress.failuresInARow === 0) return false;
    const informed = ({ receivers }: Rule) => receivers;
    const { regionsDown } = suppressions.at(clock.now().utcMs);
    return regionInhibitors(regionsDown, judge.rules, target, { informed }).length > 0;
  };

  return probes.flatMap((watched): Unit<Answered>[] => {
    const { probe, subject } = watched;
    const { region, key } = subject;
    const apiKey = deps.apiKeys.get(key);
    if (!apiKey) return [];
    const name = subjectName(subject);
    const target = { region, key };

    const unit: Unit<Answered> = {
      name,
      target,
      schedule: probe.schedule,
      order: "one_by_one",
      expectedStatus: probe.expect.status,
      async call(attempt) {
        const result = await callProbe(service, probe, { ...attempt, region, apiKey });
        const { operation } = probe;
        const { deviations } = result;
        if (deviations.length > 0) recordDrift({ region, operation, deviations });
        return result;
      },

      async commit(outcome, { calledMs, endedMs }) {
        const durationMs = calledMs === null ? null : endedMs - calledMs;
        const run = { outcome: outcome.kind === "ok" ? outcome.outcome : outcome, durationMs };
        const at = clock.now();
        const { lostRuns } = watched;
        const verdict = await commits.commit(async () => {
          const ofTarget = targets.get(targetName(target))?.state.incidents.values() ?? [];
          const isDown = isNotifiedAsDown(ofTarget) || isOfRegionDown(target);
          const options = { ...judge, suppressions: suppressions.at(clock.now().utcMs) };
          const decided = judgeProbe(watched.state, run, at, options, isDown);
          await store.probes.commitRun(watched.id, decided);
          return decided;
        });
        watched.accept(verdict);
        const { incidents } = verdict;
        const lines = runLines(watched, verdict, lostRuns);
        await commits.publish({ target: null, incidents, atMs: at.utcMs, lines });
      },

      lose(err) {
        watched.loseRun();
        metrics.lost();
        if (watched.lostRuns > 1) return;
        log.error(
          { event: "probe.lost", probe: probe.name, region, key, err },
          `a run of probe ${name} could not be stored; this is logged again only after one was stored`,
        );
      },
    };
    return [unit];
  });
}

/** One line for each probe that begins to fail or succeeds again. */
function* runLines(
  { subject, operation }: WatchedProbe,
  { turn, result }: ProbeVerdict,
  lostRuns: number,
): Generator<LogLine, void> {
  const name = subjectName(subject);
  const { probe, region, key } = subject;
  const fields = { probe, region, key, operation };
  if (lostRuns > 0) {
    yield {
      level: "info",
      fields: { event: "probe.kept", ...fields, lost_runs: lostRuns },
      msg: `runs of probe ${name} are stored again; ${lostRuns} were lost`,
    };
  }
  if (turn === "failed" && result) {
    const { reason, detail } = result;
    yield {
      level: "warn",
      fields: { event: "probe.failed", ...fields, reason, detail },
      msg: `probe ${name} fails: ${detail ?? reason}`,
    };
  } else if (turn === "recovered") {
    yield {
      level: "info",
      fields: { event: "probe.recovered", ...fields },
      msg: `probe ${name} succeeds again`,
    };
  }
}

/** Reading a larger answer at once would hold up everything else. Listings are read in slices. */
const maxBodyBytes = 8 * 2 ** 20;

/** Calls the operation of a probe once. */
export async function callProbe(
  service: ProbeService,
  { operation, id, expect }: Pick<Probe, "operation" | "id" | "expect">,
  call: Call,
): Promise<Answered | CallFailure> {
  // A listing is held as a whole only where fields of it are expected.
  if (operation === "list_sandboxes" && expect.fields.length === 0) {
    const result = await service.listSandboxes({ ...call, before: emptySnapshot, poll: 0 });
    if (result.kind === "failed") return result;
    const listed = result.value.listing.sandboxes.length;
    const figures = { universes: null, lastUsedAtMs: null };
    const outcome = { kind: "read", content: null, listed, ...figures } as const;
    return { kind: "ok", outcome, deviations: result.deviations };
  }
  const lookup =
    operation === "list_sandboxes" || operation === "list_universes"
      ? { operation }
      : { operation, id: id ?? "" };
  const result = await service.look({ ...call, maxBodyBytes }, lookup);
  if (result.kind === "failed") return result;
  const { value, deviations } = result;
  return { kind: "ok", outcome: readAnswer(operation, value), deviations };
}

/** What rules judge and metrics show of an answer that is held as a whole. */
function readAnswer(operation: Operation, content: unknown): ReadOutcome {
  const universes = operation === "list_universes" ? countUniverses(content) : null;
  const listed = operation === "list_sandboxes" ? countSandboxes(content) : universes;
  const lastUsedAt = operation === "get_user" ? fieldAt(content, ["lastUsedAt"]) : null;
  return { kind: "read", content, listed, universes, lastUsedAtMs: readTime(lastUsedAt) };
}

function countUniverses(content: unknown): number {
  const isObject = (each: unknown): boolean =>
    typeof each === "object" && each !== null && !Array.isArray(each);
  return itemsAt(content, "universes").filter(isObject).length;
}

/** Each once, without those that have no id or no servers, as polls count them. */
function countSandboxes(content: unknown): number {
  const ids = itemsAt(content, "local_sandboxes")
    .filter((each) => Array.isArray(fieldAt(each, ["servers"])))
    .map((each) => fieldAt(each, ["local_sandbox_id"]))
    .filter((id) => typeof id === "string" && id !== "");
  return new Set(ids).size;
}

function itemsAt(content: unknown, field: string): readonly unknown[] {
  const items = fieldAt(content, [field]);
  return Array.isArray(items) ? items : [];
}

const zonedTime = /^\d{4}-\d\d-\d\d[T ]\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?:Z|[+-]\d\d:?\d\d)$/;

/** UTC milliseconds. A time without an offset could be any of several moments: null. */
function readTime(text: unknown): number | null {
  const atMs = typeof text === "string" && zonedTime.test(text) ? Date.parse(text) : Number.NaN;
  return Number.isNaN(atMs) ? null : atMs;
}
