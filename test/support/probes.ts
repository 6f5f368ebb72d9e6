import { noSuppressions, type Suppressions } from "../../src/alerts/silence.ts";
import { judgeProbe } from "../../src/alerts/judge-probe.ts";
import type { ProbeJudgeOptions, ProbeVerdict } from "../../src/alerts/judge-probe.ts";
import type { ProbeOutcome } from "../../src/alerts/probe.ts";
import type { FailureReason, Instant } from "../../src/fleet/model.ts";
import { subjectsOf } from "../../src/alerts/probe.ts";
import type { Probe } from "../../src/alerts/probe.ts";
import { initialProbeProgress } from "../../src/alerts/probe.ts";
import type { ProbeRule, Rule } from "../../src/alerts/rule.ts";
import { watchProbe } from "../../src/polling/watched-probe.ts";
import type { RestoredProbe, WatchedProbe } from "../../src/polling/watched-probe.ts";
import { research, startMs, wantAll } from "./fleet.ts";

export const login: Probe = {
  name: "login",
  operation: "get_user",
  id: "user-1",
  targets: [research],
  schedule: { kind: "every", ms: 60_000 },
  expect: { status: 200, success: null, atLeast: null, fields: [] },
};

export const probeFailing: ProbeRule = {
  name: "probe-failing",
  on: "probe",
  for: { kind: "polls", polls: 3 },
  severity: "warning",
  keepFiringForMs: 0,
  remindEveryMs: null,
  flap: null,
  receivers: ["oncall"],
  match: {},
  summaryTemplate: null,
  runbookUrlTemplate: null,
};

export const answered: Extract<ProbeOutcome, { kind: "read" }> = {
  kind: "read",
  content: {},
  listed: null,
  universes: null,
  lastUsedAtMs: null,
};

export function failing(
  reason: FailureReason = "timeout",
  status: number | null = null,
): ProbeOutcome {
  return { kind: "failed", reason, status, detail: `it is ${reason}` };
}

export const unsent: ProbeOutcome = { kind: "not_sent", reason: "rate_limited" };

export const backingOff: ProbeOutcome = { kind: "backing_off" };

export function judgeProbesBy(
  rules: readonly Rule[] = [probeFailing],
  suppressions: Suppressions = noSuppressions,
): ProbeJudgeOptions {
  let incidents = 0;
  return {
    rules,
    suppressions,
    newIncidentId: () => `incident-${++incidents}`,
    receivers: wantAll(),
  };
}

/** What it is that nothing was ever run of. */
export function neverRun(probe: Probe = login, id = 1): RestoredProbe {
  const [subject] = subjectsOf(probe);
  if (!subject) throw new RangeError("a probe has at least one target");
  return { id, subject, progress: initialProbeProgress, openIncidents: [], flaps: [] };
}

export interface RanProbe {
  readonly watched: WatchedProbe;
  /** Judges what a run brought, and takes it on. */
  readonly run: (outcome: ProbeOutcome, more?: RunOptions) => ProbeVerdict;
}

export interface RunOptions {
  /** Since the run before. */
  readonly seconds?: number;
  readonly targetIsNotified?: boolean;
  readonly judge?: ProbeJudgeOptions;
}

/** A probe and its runs, a minute apart unless it is said otherwise. */
export function ranProbe(
  judge: ProbeJudgeOptions = judgeProbesBy(),
  { probe = login, restored = neverRun(probe), staleAfter = 3 } = {},
): RanProbe {
  const watched = watchProbe(probe, restored, staleAfter);
  let at: Instant = { utcMs: startMs, monotonicMs: 1_000 };
  return {
    watched,
    run(outcome, { seconds = 60, targetIsNotified = false, judge: by = judge } = {}) {
      at = { utcMs: at.utcMs + seconds * 1_000, monotonicMs: at.monotonicMs + seconds * 1_000 };
      const isSent = outcome.kind !== "not_sent" && outcome.kind !== "backing_off";
      const durationMs = isSent ? 40 : null;
      const verdict = judgeProbe(watched.state, { outcome, durationMs }, at, by, targetIsNotified);
      watched.accept(verdict);
      return verdict;
    },
  };
}
