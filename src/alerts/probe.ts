import { failureReasons, type FailureReason, type Operation, type Target } from "../fleet/model.ts";
import type { Schedule } from "../fleet/schedule.ts";
import type { ClockReading } from "./incident-phase.ts";
import type { ProbeSubject } from "./subjects.ts";
import type { Expectation, ReadAnswer } from "./probe-expectation.ts";

/** A call of one operation on a schedule of its own, and what must hold of the answer. */
export interface Probe {
  readonly name: string;
  readonly operation: Operation;
  /** Of what is asked for; null: the operation takes none. It may identify a person, and is shown nowhere. */
  readonly id: string | null;
  /** Never empty. */
  readonly targets: readonly Target[];
  readonly schedule: Schedule;
  readonly expect: Expectation;
}

export function subjectsOf({ name, targets }: Probe): readonly ProbeSubject[] {
  return targets.map(({ region, key }) => ({ kind: "probe", probe: name, region, key }));
}

/** A subject as one string, for maps and hashes. Names hold no slash: the configuration sees to it. */
export function subjectName({ probe, region, key }: ProbeSubject): string {
  return `${probe}/${region}/${key}`;
}

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
  /** The rate limit left no request. */
  | { readonly kind: "not_sent"; readonly reason: FailureReason }
  /** The key was refused a short time ago: no request was sent, so no run failed. */
  | { readonly kind: "backing_off" };

/** What metrics show of an answer; null: it does not contain this. */
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

/** Why a run of a probe failed; `unmet`: the answer came, and is not as expected. */
export const probeFailures = [...failureReasons, "unmet"] as const;
export type ProbeFailure = (typeof probeFailures)[number];

export interface ProbeResult {
  /** When the run ended. UTC milliseconds. */
  readonly atMs: number;
  readonly reason: ProbeFailure | null;
  /** A short phrase for a person, without anything secret. */
  readonly detail: string | null;
  readonly durationMs: number | null;
}

export interface ProbeProgress {
  /** Runs and the time that passed, whatever their outcome: the clock of `on: probe` rules. */
  readonly attempted: ClockReading;
  readonly failuresInARow: number;
  readonly lastSuccessAtMs: number | null;
  readonly last: ProbeResult | null;
}

export const initialProbeProgress: ProbeProgress = {
  attempted: { ms: 0, polls: 0 },
  failuresInARow: 0,
  lastSuccessAtMs: null,
  last: null,
};

/**
 * @param elapsedMs since the run before
 * @param result null: nothing was sent as the key is refused, so no run failed; the probe stays failing
 */
export function progressAfterRun(
  progress: ProbeProgress,
  elapsedMs: number,
  result: ProbeResult | null,
): ProbeProgress {
  const { attempted, failuresInARow, lastSuccessAtMs } = progress;
  const ms = attempted.ms + elapsedMs;
  if (result === null) {
    // The store may not have taken the refusals.
    const failures = Math.max(1, failuresInARow);
    return { ...progress, attempted: { ...attempted, ms }, failuresInARow: failures };
  }
  const succeeded = result.reason === null;
  return {
    attempted: { ms, polls: attempted.polls + 1 },
    failuresInARow: succeeded ? 0 : failuresInARow + 1,
    lastSuccessAtMs: succeeded ? result.atMs : lastSuccessAtMs,
    last: result,
  };
}

export const probeStates = ["ok", "failing", "not_run"] as const;
export type ProbeStateWord = (typeof probeStates)[number];

export function probeState({ last, failuresInARow }: ProbeProgress): ProbeStateWord {
  if (!last) return "not_run";
  return failuresInARow > 0 ? "failing" : "ok";
}

/** What metrics show of a probe. Null: it was not observed, or too many runs ago. */
export interface ProbeReadings extends Figures {
  readonly success: boolean | null;
  readonly durationMs: number | null;
  /** When an answer was last read. UTC milliseconds. */
  readonly readAtMs: number | null;
  /** Runs in a row without a result: nothing could be sent, or the store did not take them. */
  readonly unsentInARow: number;
  readonly unreadInARow: number;
}

export const noReadings: ProbeReadings = {
  success: null,
  durationMs: null,
  universes: null,
  lastUsedAtMs: null,
  readAtMs: null,
  unsentInARow: 0,
  unreadInARow: 0,
};

/** @param staleAfter runs in a row without news before the last is withheld */
export function readingsAfterRun(
  before: ProbeReadings,
  { outcome }: ProbeRun,
  result: ProbeResult | null,
  staleAfter: number,
): ProbeReadings {
  // A key that is refused is not asked at every run: that it is refused is news enough.
  if (result === null) return before;
  if (outcome.kind === "not_sent") return readingsAfterLoss(before, staleAfter);
  const { reason, atMs } = result;
  const durationMs = result.durationMs ?? before.durationMs;
  const sent = { ...before, success: reason === null, durationMs, unsentInARow: 0 };
  if (outcome.kind !== "read") {
    return withhold({ ...sent, unreadInARow: before.unreadInARow + 1 }, staleAfter);
  }
  const { universes, lastUsedAtMs } = outcome;
  return { ...sent, universes, lastUsedAtMs, readAtMs: atMs, unreadInARow: 0 };
}

/** Nothing was sent, or the run was not stored. */
export function readingsAfterLoss(before: ProbeReadings, staleAfter: number): ProbeReadings {
  const unsentInARow = before.unsentInARow + 1;
  const unreadInARow = before.unreadInARow + 1;
  return withhold({ ...before, unsentInARow, unreadInARow }, staleAfter);
}

function withhold(readings: ProbeReadings, staleAfter: number): ProbeReadings {
  return {
    ...readings,
    ...(readings.unsentInARow >= staleAfter && { success: null, durationMs: null }),
    ...(readings.unreadInARow >= staleAfter && { universes: null, lastUsedAtMs: null }),
  };
}

/** What may be shown of a probe, by metrics and pages: always as of the last commit. */
export interface ProbeView {
  readonly id: number;
  readonly subject: ProbeSubject;
  readonly operation: Operation;
  readonly progress: ProbeProgress;
  /** Of this process's runs alone. */
  readonly readings: ProbeReadings;
}
