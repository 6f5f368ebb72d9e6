import type { ProbeRun } from "./judge-probe.ts";
import type { ProbeResult } from "./probe-progress.ts";

/**
 * What metrics say of a probe, as far as it was seen of late. What is null was not seen, or too many
 * runs ago.
 */
export interface ProbeReadings {
  readonly success: boolean | null;
  readonly durationMs: number | null;
  readonly universes: number | null;
  readonly lastUsedAtMs: number | null;
  /** When there last was an answer that could be read. UTC milliseconds. */
  readonly readAtMs: number | null;
  /** Runs in a row that say nothing of the probe: nothing could be sent, or the store did not take them. */
  readonly unsentInARow: number;
  /** Runs in a row without an answer that could be read. */
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

/** @param staleAfter after so many runs in a row without news the last is not shown as the present */
export function readingsAfterRun(
  before: ProbeReadings,
  { outcome }: ProbeRun,
  result: ProbeResult | null,
  staleAfter: number,
): ProbeReadings {
  // A key that is refused is not asked at every run: that it is refused is news enough.
  if (result === null) return before;
  const { atMs, reason, durationMs } = result;
  const unsent = outcome.kind === "not_sent";
  const sent = unsent
    ? before
    : { success: reason === null, durationMs: durationMs ?? before.durationMs };
  const read =
    outcome.kind === "read"
      ? { universes: outcome.universes, lastUsedAtMs: outcome.lastUsedAtMs }
      : before;
  return withhold(
    {
      ...before,
      success: sent.success,
      durationMs: sent.durationMs,
      universes: read.universes,
      lastUsedAtMs: read.lastUsedAtMs,
      readAtMs: outcome.kind === "read" ? atMs : before.readAtMs,
      unsentInARow: unsent ? before.unsentInARow + 1 : 0,
      unreadInARow: outcome.kind === "read" ? 0 : before.unreadInARow + 1,
    },
    staleAfter,
  );
}

/** Nobody knows what came of a run. */
export function readingsAfterLoss(before: ProbeReadings, staleAfter: number): ProbeReadings {
  const { unsentInARow, unreadInARow } = before;
  return withhold(
    { ...before, unsentInARow: unsentInARow + 1, unreadInARow: unreadInARow + 1 },
    staleAfter,
  );
}

function withhold(readings: ProbeReadings, staleAfter: number): ProbeReadings {
  return {
    ...readings,
    ...(readings.unsentInARow >= staleAfter && { success: null, durationMs: null }),
    ...(readings.unreadInARow >= staleAfter && { universes: null, lastUsedAtMs: null }),
  };
}
