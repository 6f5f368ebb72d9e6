import { conditionOfProbe } from "./condition.ts";
import type { FlapRecord } from "./flap-record.ts";
import { createIncidentEngine } from "./incident-engine.ts";
import type { IncidentEngine, IncidentOutcome, SubjectEvent } from "./incident-engine.ts";
import type { Incident, ProbeSubject } from "./incident.ts";
import type { JudgeOptions } from "./judge.ts";
import { matchesProbe } from "./matching.ts";
import type { FailureReason, Instant } from "../fleet/model.ts";
import { unmetBy } from "./probe-expectation.ts";
import type { Expectation, ReadAnswer } from "./probe-expectation.ts";
import { progressAfterRun, progressAfterUnsent } from "./probe-progress.ts";
import type { ProbeFailure, ProbeProgress, ProbeResult } from "./probe-progress.ts";
import type { ProbeRule, Rule } from "./rule.ts";
import { forgetSettled, retireUnowned } from "./unowned.ts";

/** How a run of a probe ended. */
export type ProbeOutcome =
  | ({ readonly kind: "read" } & ReadAnswer & Figures)
  | {
      readonly kind: "failed";
      readonly reason: FailureReason;
      /** Of the HTTP answer; null where not even its head came. */
      readonly status: number | null;
      /** A short phrase for a person, without anything secret. */
      readonly detail: string;
    }
  /** There was no room for a request. */
  | { readonly kind: "not_sent"; readonly reason: FailureReason }
  /** The key was refused a short time ago: no request was sent, so no run failed. */
  | { readonly kind: "backing_off" };

/** What metrics show of an answer; null: it tells nothing of the kind. */
export interface Figures {
  readonly universes: number | null;
  /** UTC milliseconds. */
  readonly lastUsedAtMs: number | null;
}

export interface ProbeRun {
  readonly outcome: ProbeOutcome;
  /** From the first request to the end of the last; null: nothing was sent. */
  readonly durationMs: number | null;
}

/** All that decides about a probe with a key in a region between two runs. */
export interface ProbeState {
  readonly subject: ProbeSubject;
  readonly expect: Expectation;
  readonly progress: ProbeProgress;
  /** When the last run ended on this process's monotonic clock; null before the first one. */
  readonly lastRunMonotonicMs: number | null;
  /** The open ones, by `incidentKey`. */
  readonly incidents: ReadonlyMap<string, Incident>;
  /** By the same keys. */
  readonly flaps: ReadonlyMap<string, FlapRecord>;
}

export type ProbeJudgeOptions = Omit<JudgeOptions, "goneAfter">;

/** What one run means, to be committed at once. */
export interface ProbeVerdict {
  readonly at: Instant;
  readonly run: ProbeRun;
  /** Null: nothing was sent, and it stays as it was. */
  readonly result: ProbeResult | null;
  readonly progress: ProbeProgress;
  readonly incidents: IncidentOutcome;
  /** Whether it fails from now on or works again; failing from the start counts as well. */
  readonly turn: "failed" | "recovered" | null;
}

/**
 * Decides what one run of a probe means.
 *
 * @param targetIsNotified whether somebody was told that the probe's target cannot be seen: what befalls
 *   the whole target is then not told of each of its probes once more
 */
export function judgeProbe(
  state: ProbeState,
  run: ProbeRun,
  at: Instant,
  options: ProbeJudgeOptions,
  targetIsNotified: boolean,
): ProbeVerdict {
  const result = resultOf(state.expect, run, at.utcMs);
  const elapsedMs =
    state.lastRunMonotonicMs === null ? 0 : at.monotonicMs - state.lastRunMonotonicMs;
  const progress =
    result === null
      ? progressAfterUnsent(state.progress, elapsedMs)
      : progressAfterRun(state.progress, elapsedMs, result);
  const engine = openEngine(state, at.utcMs, options);
  const last = result ?? refusedBefore;
  const hidden = targetIsNotified && isOfTarget(last.reason);
  const event = eventOf(last, hidden, {
    now: progress.attempted,
    passed: { ms: elapsedMs, polls: progress.attempted.polls - state.progress.attempted.polls },
  });
  const rules = probeRules(options.rules, state.subject);
  for (const rule of rules) {
    engine.advance(rule, state.subject, event, {
      status: null,
      previousStatus: null,
      condition: conditionOfProbe(last),
    });
  }
  forgetSettled(engine, state.flaps, progress.attempted.ms, rules);
  const turn = result === null ? null : turnOf(state, result);
  return { at, run, result, progress, incidents: engine.outcome, turn };
}

/** What is known of a probe that backs off. */
const refusedBefore = { reason: "auth", detail: null } as const;

/** Ends the incidents that no rule owns any more: it was removed, changed, or is not about this probe. */
export function retireProbe(
  state: Pick<ProbeState, "subject" | "incidents" | "flaps">,
  atMs: number,
  options: ProbeJudgeOptions,
): IncidentOutcome {
  const engine = openEngine(state, atMs, options);
  retireUnowned(engine, state, probeRules(options.rules, state.subject));
  return engine.outcome;
}

function resultOf(
  expect: Expectation,
  { outcome, durationMs }: ProbeRun,
  atMs: number,
): ProbeResult | null {
  switch (outcome.kind) {
    case "read": {
      const unmet = unmetBy(expect, outcome);
      return { atMs, reason: unmet === null ? null : "unmet", detail: unmet, durationMs };
    }
    case "failed":
      return outcome.status === expect.status && expect.status !== 200
        ? { atMs, reason: null, detail: null, durationMs }
        : { atMs, reason: outcome.reason, detail: outcome.detail, durationMs };
    case "not_sent":
      return { atMs, reason: outcome.reason, detail: "nothing was sent", durationMs };
    case "backing_off":
      return null;
  }
}

/** What keeps every call with the target's key from being answered, and says nothing of this one. */
const reasonsOfTarget: ReadonlySet<ProbeFailure> = new Set<ProbeFailure>([
  "timeout",
  "network",
  "auth",
  "rate_limited",
  "server_error",
]);

function isOfTarget(reason: ProbeFailure | null): boolean {
  return reason !== null && reasonsOfTarget.has(reason);
}

function eventOf(
  { reason }: Pick<ProbeResult, "reason">,
  hidden: boolean,
  { now, passed }: Readonly<Record<"now" | "passed", ProbeProgress["attempted"]>>,
): SubjectEvent {
  if (reason === null) return { kind: "clears", now };
  return hidden ? { kind: "unobserved", passed } : { kind: "holds", now };
}

function turnOf(
  { progress, lastRunMonotonicMs }: ProbeState,
  { reason }: ProbeResult,
): ProbeVerdict["turn"] {
  const failedBefore = progress.failuresInARow > 0;
  if (reason === null) return failedBefore ? "recovered" : null;
  return !failedBefore || lastRunMonotonicMs === null ? "failed" : null;
}

function openEngine(
  { incidents, flaps }: Pick<ProbeState, "incidents" | "flaps">,
  atMs: number,
  { tells, interventions, newIncidentId }: ProbeJudgeOptions,
): IncidentEngine {
  const said = { tells, interventions, newIncidentId };
  return createIncidentEngine({ target: null, open: incidents, flaps, atMs, ...said });
}

function probeRules(rules: readonly Rule[], subject: ProbeSubject): readonly ProbeRule[] {
  return rules.filter(
    (rule): rule is ProbeRule => rule.on === "probe" && matchesProbe(rule.match, subject),
  );
}
