import type { Instant } from "../fleet/model.ts";
import { IncidentEngine } from "./incident-engine.ts";
import type { AlertOptions, IncidentOutcome, KnownIncidents } from "./incident-engine.ts";
import type { SubjectEvent } from "./incident-phase.ts";
import type { ProbeSubject } from "./subjects.ts";
import { unmetBy, type Expectation } from "./probe-expectation.ts";
import { progressAfterRun } from "./probe.ts";
import type { ProbeFailure, ProbeProgress, ProbeResult, ProbeRun } from "./probe.ts";
import { matchesAny, rulesOn, type ProbeRule, type Rule } from "./rule.ts";

export interface ProbeState extends KnownIncidents {
  readonly subject: ProbeSubject;
  readonly expect: Expectation;
  readonly progress: ProbeProgress;
  /** When the last run ended on this process's monotonic clock; null before the first one. */
  readonly lastRunMonotonicMs: number | null;
}

export interface ProbeJudgeOptions extends AlertOptions {
  readonly rules: readonly Rule[];
}

export interface ProbeVerdict {
  readonly at: Instant;
  readonly run: ProbeRun;
  /** Null: nothing was sent, and the last result remains. */
  readonly result: ProbeResult | null;
  readonly progress: ProbeProgress;
  readonly incidents: IncidentOutcome;
  /** Whether it fails from now on or works again; failing from the start counts as well. */
  readonly turn: "failed" | "recovered" | null;
}

/** What keeps every call with the target's key from being answered, and says nothing of this probe. */
const reasonsOfTarget: ReadonlySet<ProbeFailure> = new Set<ProbeFailure>([
  "timeout",
  "network",
  "auth",
  "rate_limited",
  "server_error",
]);

/**
 * Decides what one run of a probe means.
 *
 * @param targetIsNotified whether a receiver was notified that the probe's target is down: what affects the whole target
 *   is then not notified for each of its probes
 */
export function judgeProbe(
  state: ProbeState,
  run: ProbeRun,
  at: Instant,
  options: ProbeJudgeOptions,
  targetIsNotified: boolean,
): ProbeVerdict {
  const { subject, lastRunMonotonicMs } = state;
  const result = resultOf(state.expect, run, at.utcMs);
  const elapsedMs = lastRunMonotonicMs === null ? 0 : at.monotonicMs - lastRunMonotonicMs;
  const progress = progressAfterRun(state.progress, elapsedMs, result);
  const { attempted: now } = progress;
  const { reason, detail } = result ?? { reason: "auth", detail: null };
  const isHidden = targetIsNotified && reason !== null && reasonsOfTarget.has(reason);
  const passed = { ms: elapsedMs, polls: now.polls - state.progress.attempted.polls };
  const event: SubjectEvent = isHidden
    ? { kind: "unobserved", passed }
    : { kind: reason === null ? "clears" : "holds", now };

  const engine = new IncidentEngine(state, at.utcMs, options);
  const rules = rulesOnProbe(options.rules, subject);
  const observed = { condition: "failing", detail: reason === "unmet" ? detail : reason };
  for (const rule of rules) engine.advance(rule, subject, event, observed);
  engine.flaps.forgetSettled(rules, now.ms);
  const turn = result && turnOf(state, result);
  return { at, run, result, progress, incidents: engine.outcome, turn };
}

/** Ends the incidents that no rule owns any more: it was removed, changed, or is not about this probe. */
export function retireProbe(
  state: Pick<ProbeState, "subject" | "incidents" | "flaps">,
  atMs: number,
  options: ProbeJudgeOptions,
): IncidentOutcome {
  const engine = new IncidentEngine(state, atMs, options);
  engine.retireUnowned(rulesOnProbe(options.rules, state.subject));
  return engine.outcome;
}

function rulesOnProbe(rules: readonly Rule[], subject: ProbeSubject): readonly ProbeRule[] {
  return rulesOn("probe", rules, subject).filter(({ match }) =>
    matchesAny(match.probe, subject.probe),
  );
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

function turnOf(
  { progress, lastRunMonotonicMs }: ProbeState,
  { reason }: ProbeResult,
): ProbeVerdict["turn"] {
  const failedBefore = progress.failuresInARow > 0;
  if (reason === null) return failedBefore ? "recovered" : null;
  return !failedBefore || lastRunMonotonicMs === null ? "failed" : null;
}
