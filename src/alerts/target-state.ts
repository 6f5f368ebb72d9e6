import { noOpenBuckets } from "../fleet/accounting.ts";
import type { OpenBuckets } from "../fleet/accounting.ts";
import type { Snapshot } from "../fleet/snapshot.ts";
import type { FlapRecord } from "./flap-record.ts";
import type { Incident } from "./incident.ts";
import type { ClockReading } from "./incident-phase.ts";
import type { FailureReason, Instant, Target } from "../fleet/model.ts";

/** How far the watching of a target has come. */
export interface TargetProgress {
  /** Polls ended, well or badly, and the time that passed: the clock of `on: target` rules. */
  readonly attempted: ClockReading;
  /** Polls accepted, and the time between them: the clock of `on: server` rules. */
  readonly observed: ClockReading;
  readonly failuresInARow: number;
  readonly lastFailure: FailureReason | null;
  readonly lastPollAtMs: number | null;
  readonly lastSuccessAtMs: number | null;
  /** Whether the last poll was accepted and complete: only then is the time after it observed. */
  readonly lastComplete: boolean;
}

/** All that is known of a target between two polls. */
export interface TargetState {
  readonly target: Target;
  readonly progress: TargetProgress;
  /** When the last poll ended on this process's monotonic clock; null before the first one. */
  readonly lastPollMonotonicMs: number | null;
  /**
   * Whether a complete listing was judged by the rules in force. Until then every listing is judged
   * as a whole: a partial one may lack a server that is in error already.
   */
  readonly rulesApplied: boolean;
  readonly snapshot: Snapshot;
  /** The open ones, by `incidentKey`. */
  readonly incidents: ReadonlyMap<string, Incident>;
  /** By the same keys. */
  readonly flaps: ReadonlyMap<string, FlapRecord>;
  readonly buckets: OpenBuckets;
}

export const initialProgress: TargetProgress = {
  attempted: { ms: 0, polls: 0 },
  observed: { ms: 0, polls: 0 },
  failuresInARow: 0,
  lastFailure: null,
  lastPollAtMs: null,
  lastSuccessAtMs: null,
  lastComplete: false,
};

/** Of a target that was never polled. */
export const nothingKnown = {
  progress: initialProgress,
  openIncidents: [],
  flaps: [],
  buckets: noOpenBuckets,
} as const;

/** Whether the last poll showed all of the target. */
export function isFullyObserved({ failuresInARow, lastComplete }: TargetProgress): boolean {
  return failuresInARow === 0 && lastComplete;
}

/** How the time since the previous poll counts. Milliseconds. */
export interface Elapsed {
  /** On the monotonic clock of this process; zero for its first poll. */
  readonly ms: number;
  /** The same in whole ones, but known across a restart from the timestamps. They add up. */
  readonly sinceLastPollMs: number;
  /** Whether the target was in sight all along: the previous poll was this process's and accepted. */
  readonly isUp: boolean;
  /** Whether it was in sight and the previous listing complete. */
  readonly isFullyObserved: boolean;
}

export function elapsedSince(state: TargetState, at: Instant): Elapsed {
  const { progress, lastPollMonotonicMs } = state;
  if (lastPollMonotonicMs === null) {
    const sinceLastPollMs =
      progress.lastPollAtMs === null ? 0 : Math.max(0, at.utcMs - progress.lastPollAtMs);
    return { ms: 0, sinceLastPollMs, isUp: false, isFullyObserved: false };
  }
  const ms = at.monotonicMs - lastPollMonotonicMs;
  const wholeMs = Math.round(at.monotonicMs) - Math.round(lastPollMonotonicMs);
  const isUp = progress.failuresInARow === 0;
  return { ms, sinceLastPollMs: wholeMs, isUp, isFullyObserved: isUp && progress.lastComplete };
}

export function progressAfterListing(
  progress: TargetProgress,
  elapsed: Elapsed,
  at: Instant,
  complete: boolean,
): TargetProgress {
  return {
    attempted: tick(progress.attempted, elapsed.ms),
    observed: tick(progress.observed, elapsed.isUp ? elapsed.ms : 0),
    failuresInARow: 0,
    lastFailure: null,
    lastPollAtMs: at.utcMs,
    lastSuccessAtMs: at.utcMs,
    lastComplete: complete,
  };
}

export function progressAfterFailure(
  progress: TargetProgress,
  elapsed: Elapsed,
  at: Instant,
  reason: FailureReason,
): TargetProgress {
  return {
    ...progress,
    attempted: tick(progress.attempted, elapsed.ms),
    failuresInARow: progress.failuresInARow + 1,
    lastFailure: reason,
    lastPollAtMs: at.utcMs,
    lastComplete: false,
  };
}

/** Nothing was sent as the key is refused, so no poll failed: the target stays down while time passes. */
export function progressAfterUnsent(
  progress: TargetProgress,
  elapsed: Elapsed,
  at: Instant,
): TargetProgress {
  const { ms, polls } = progress.attempted;
  return {
    ...progress,
    attempted: { ms: ms + elapsed.ms, polls },
    // The store may not have taken the refusals.
    failuresInARow: Math.max(1, progress.failuresInARow),
    lastFailure: "auth",
    lastPollAtMs: at.utcMs,
    lastComplete: false,
  };
}

function tick(reading: ClockReading, ms: number): ClockReading {
  return { ms: reading.ms + ms, polls: reading.polls + 1 };
}
