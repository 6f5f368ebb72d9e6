import type { ClockReading } from "./incident-phase.ts";
import { failureReasons } from "../fleet/model.ts";

/** Why a run of a probe failed; `unmet`: the answer came, and is not as expected. */
export const probeFailures = [...failureReasons, "unmet"] as const;
export type ProbeFailure = (typeof probeFailures)[number];

/** What came of one run. */
export interface ProbeResult {
  /** When it ended. UTC milliseconds. */
  readonly atMs: number;
  /** Null: it succeeded. */
  readonly reason: ProbeFailure | null;
  /** A short phrase for a person, without anything secret; null: there is nothing to say. */
  readonly detail: string | null;
  /** From the first request to the end of the last; null: nothing was sent. */
  readonly durationMs: number | null;
}

/** How far the running of a probe with a key in a region has come. */
export interface ProbeProgress {
  /** Runs ended, well or badly, and the time that passed: the clock of `on: probe` rules. */
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

/** @param elapsedMs since the run before, as far as it was watched */
export function progressAfterRun(
  { attempted, failuresInARow, lastSuccessAtMs }: ProbeProgress,
  elapsedMs: number,
  result: ProbeResult,
): ProbeProgress {
  const succeeded = result.reason === null;
  return {
    attempted: { ms: attempted.ms + elapsedMs, polls: attempted.polls + 1 },
    failuresInARow: succeeded ? 0 : failuresInARow + 1,
    lastSuccessAtMs: succeeded ? result.atMs : lastSuccessAtMs,
    last: result,
  };
}

/** Nothing was sent as the key is refused, so no run failed: the probe goes on failing while time passes. */
export function progressAfterUnsent(progress: ProbeProgress, elapsedMs: number): ProbeProgress {
  const { ms, polls } = progress.attempted;
  return {
    ...progress,
    attempted: { ms: ms + elapsedMs, polls },
    // The store may not have taken the refusals.
    failuresInARow: Math.max(1, progress.failuresInARow),
  };
}

export const probeStates = ["ok", "failing", "not_run"] as const;
export type ProbeStateWord = (typeof probeStates)[number];

/** How a probe is, in a word. */
export function probeState({ last, failuresInARow }: ProbeProgress): ProbeStateWord {
  if (!last) return "not_run";
  return failuresInARow > 0 ? "failing" : "ok";
}
