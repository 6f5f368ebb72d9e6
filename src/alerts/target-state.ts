import type { FailureReason, Instant, Target } from "../fleet/model.ts";
import type { RecordedTime } from "../fleet/recorded-time.ts";
import type { Snapshot } from "../fleet/snapshot.ts";
import type { KnownIncidents, IncidentOutcome } from "./incident-engine.ts";
import type { ClockReading } from "./incident-phase.ts";
import { flapKey, type FlapRecord } from "./flap-record.ts";
import { incidentKey, type Incident } from "./incident.ts";

export interface TargetProgress {
  /** Polls and the time that passed, whatever their outcome: the clock of `on: target` rules. */
  readonly attempted: ClockReading;
  /** Polls accepted, and the time between them: the clock of `on: server` rules. */
  readonly observed: ClockReading;
  readonly failuresInARow: number;
  readonly lastFailure: FailureReason | null;
  /** Of the response of the last poll if it failed; null: there was none. */
  readonly lastStatus: number | null;
  /** When the first of the failures in a row ended. UTC milliseconds. */
  readonly failingSinceMs: number | null;
  readonly lastPollAtMs: number | null;
  readonly lastSuccessAtMs: number | null;
  /** Whether the last poll was accepted and complete: only then is the time after it observed. */
  readonly lastComplete: boolean;
  /** Null: there was no poll yet. */
  readonly recorded: RecordedTime | null;
}

export interface TargetState extends KnownIncidents {
  readonly target: Target;
  readonly progress: TargetProgress;
  /** When the last poll ended on this process's monotonic clock; null before the first one. */
  readonly lastPollMonotonicMs: number | null;
  /**
   * Whether a complete listing was judged by the rules in force. Until then every listing is judged as a whole: a
   * partial one may lack a server that is in error already.
   */
  readonly rulesApplied: boolean;
  readonly snapshot: Snapshot;
}

/** Why a poll failed. */
export interface PollFailure {
  readonly reason: FailureReason;
  /** Of the response. Default: there was none. */
  readonly status?: number | null;
}

export const initialProgress: TargetProgress = {
  attempted: { ms: 0, polls: 0 },
  observed: { ms: 0, polls: 0 },
  failuresInARow: 0,
  lastFailure: null,
  lastStatus: null,
  failingSinceMs: null,
  lastPollAtMs: null,
  lastSuccessAtMs: null,
  lastComplete: false,
  recorded: null,
};

export const nothingKnown = {
  progress: initialProgress,
  openIncidents: [],
  flaps: [],
} as const;

/** Whether the last poll showed all of the target. */
export function isFullyObserved({ failuresInARow, lastComplete }: TargetProgress): boolean {
  return failuresInARow === 0 && lastComplete;
}

/** How the time since the previous poll counts. Milliseconds. */
export interface Elapsed {
  /** On the monotonic clock of this process; zero for its first poll. */
  readonly ms: number;
  /** The same in whole milliseconds that add up, but known across a restart from the timestamps. */
  readonly sinceLastPollMs: number;
  /** Whether the previous poll was this process's and accepted. */
  readonly isUp: boolean;
  /** Whether its listing was complete, too. */
  readonly isFullyObserved: boolean;
}

export function elapsedSince(state: TargetState, at: Instant): Elapsed {
  const { progress, lastPollMonotonicMs: lastMs } = state;
  if (lastMs === null) {
    const sinceLastPollMs = Math.max(0, at.utcMs - (progress.lastPollAtMs ?? at.utcMs));
    return { ms: 0, sinceLastPollMs, isUp: false, isFullyObserved: false };
  }
  return {
    ms: at.monotonicMs - lastMs,
    sinceLastPollMs: Math.round(at.monotonicMs) - Math.round(lastMs),
    isUp: progress.failuresInARow === 0,
    isFullyObserved: isFullyObserved(progress),
  };
}

export function progressAfterListing(
  { attempted, observed }: TargetProgress,
  { ms, isUp }: Elapsed,
  at: Instant,
  complete: boolean,
  recorded: RecordedTime,
): TargetProgress {
  return {
    attempted: { ms: attempted.ms + ms, polls: attempted.polls + 1 },
    observed: { ms: observed.ms + (isUp ? ms : 0), polls: observed.polls + 1 },
    failuresInARow: 0,
    lastFailure: null,
    lastStatus: null,
    failingSinceMs: null,
    lastPollAtMs: at.utcMs,
    lastSuccessAtMs: at.utcMs,
    lastComplete: complete,
    recorded,
  };
}

/** @param failure null: nothing was sent as the key is refused, so no poll failed; the target stays down */
export function progressAfterFailure(
  progress: TargetProgress,
  { ms }: Elapsed,
  at: Instant,
  failure: PollFailure | null,
  recorded: RecordedTime,
): TargetProgress {
  const { attempted, failuresInARow } = progress;
  const failed = failure === null ? 0 : 1;
  return {
    ...progress,
    attempted: { ms: attempted.ms + ms, polls: attempted.polls + failed },
    // Where nothing was sent, the store may not have taken the refusals.
    failuresInARow: Math.max(1, failuresInARow + failed),
    lastFailure: failure?.reason ?? "auth",
    lastStatus: failure === null ? progress.lastStatus : (failure.status ?? null),
    failingSinceMs: progress.failingSinceMs ?? at.utcMs,
    lastPollAtMs: at.utcMs,
    lastComplete: false,
    recorded,
  };
}

export interface OpenIncidents extends KnownIncidents {
  apply(outcome: IncidentOutcome): void;
}

export function keyOfIncident({ rule, subject }: Incident): string {
  return incidentKey(rule, subject);
}

export function holdIncidents(
  open: readonly Incident[],
  records: readonly FlapRecord[] = [],
): OpenIncidents {
  const incidents = new Map(open.map((incident) => [keyOfIncident(incident), incident]));
  const flaps = new Map(records.map((record) => [flapKey(record), record]));
  return {
    incidents,
    flaps,
    apply(outcome) {
      for (const incident of [...outcome.written, ...outcome.dropped]) {
        if (incident.phase.name === "resolved") incidents.delete(keyOfIncident(incident));
        else incidents.set(keyOfIncident(incident), incident);
      }
      for (const record of outcome.flaps) {
        if (record.enteredMs.length === 0) flaps.delete(flapKey(record));
        else flaps.set(flapKey(record), record);
      }
    },
  };
}
