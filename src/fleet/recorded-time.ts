import type { FailureReason } from "./model.ts";
import type { Tallies } from "./tallies.ts";

/** How the time from one poll of a target to its next one is accounted for. */
export interface Stretch {
  /** Whole milliseconds. */
  readonly elapsedMs: number;
  /** Whether both polls were complete: only then was any server observed. */
  readonly observed: boolean;
  /** Of what is known throughout: what the earlier poll left. */
  readonly tallies: Tallies;
}

/** The time of the calendar that a target's history covers. It never goes back, though the clock is set back. UTC milliseconds. */
export interface RecordedTime {
  /** When the first poll ended. */
  readonly fromMs: number;
  /** When the last poll ended. */
  readonly toMs: number;
}

/** Calendar time in which a target was not observed. UTC milliseconds. */
export interface Gap {
  readonly fromMs: number;
  readonly toMs: number;
}

/**
 * - a failure: polls failed
 * - `partial`: listings were partial
 * - `not_running`: sandwatch did not run, or could not store what it observed
 * - `late`: the clock was set forward, or the machine was suspended
 */
export type GapReason = FailureReason | "partial" | "not_running" | "late";

/** What a poll does to the gaps of its target. */
export interface GapStep {
  /** When the gap that is open ends. Null: none ends. */
  readonly closedAtMs: number | null;
  /** A gap that begins. Null: none does. */
  readonly opened: {
    readonly fromMs: number;
    /** Null: its end is not known yet. */
    readonly toMs: number | null;
    readonly reason: GapReason;
  } | null;
}

export const noGapStep: GapStep = { closedAtMs: null, opened: null };

export interface RecordedPoll extends Pick<Stretch, "elapsedMs" | "observed"> {
  readonly atMs: number;
  /** Why nothing is observed after it. Null: the listing was complete. */
  readonly trouble: FailureReason | "partial" | null;
  /** Whether the poll before failed or was partial: then a gap is open. */
  readonly wasOpen: boolean;
}

/** The clocks may differ by less without one of them having been set. */
const slackMs = 1_000;

/** @param before null: it is the first poll */
export function recordPoll(
  before: RecordedTime | null,
  { atMs, elapsedMs, observed, trouble, wasOpen }: RecordedPoll,
): { readonly recorded: RecordedTime; readonly gap: GapStep } {
  const toMs = Math.max(atMs, before?.toMs ?? atMs);
  const recorded = { fromMs: before?.fromMs ?? toMs, toMs };
  const lastMs = before?.toMs ?? toMs;
  const gapOf = (): GapStep => {
    if (before && wasOpen) return trouble === null ? { closedAtMs: toMs, opened: null } : noGapStep;
    if (trouble !== null) return open(lastMs, null, trouble);
    if (!observed) return toMs > lastMs ? open(lastMs, toMs, "not_running") : noGapStep;
    return toMs - elapsedMs - lastMs > slackMs ? open(lastMs, toMs - elapsedMs, "late") : noGapStep;
  };
  return { recorded, gap: gapOf() };
}

function open(fromMs: number, toMs: number | null, reason: GapReason): GapStep {
  return { closedAtMs: null, opened: { fromMs, toMs, reason } };
}

/** Of the target, not of its servers. Milliseconds. */
export function unobservedMsOf({ elapsedMs, observed }: Stretch): number {
  return observed ? 0 : elapsedMs;
}
