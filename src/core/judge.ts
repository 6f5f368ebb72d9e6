import { conditionOfTarget } from "./condition.ts";
import { CountedChanges, noCounts } from "./counted-changes.ts";
import type { ChangeCounts } from "./counted-changes.ts";
import { createIncidentLedger } from "./incident-ledger.ts";
import type { IncidentLedger, IncidentOutcome } from "./incident-ledger.ts";
import type { ClockReading } from "./incident-phase.ts";
import { atOnce } from "./in-steps.ts";
import type { InSteps } from "./in-steps.ts";
import { judgeServers } from "./judge-servers.ts";
import type { Interventions } from "./interventions.ts";
import { matchesTarget } from "./matching.ts";
import type { FailureReason, Instant, Target } from "./model.ts";
import type { IncidentMessage } from "./notification.ts";
import { bookStretch } from "./occupancy/accounts.ts";
import type { AccountsStep } from "./occupancy/accounts.ts";
import { bookTime } from "./occupancy/booking.ts";
import type { Booking } from "./occupancy/booking.ts";
import type { PoolOutcome } from "./pool-watch.ts";
import type { Rule, TargetRule } from "./rule.ts";
import { noChanges } from "./snapshot/changes.ts";
import type { Changes } from "./snapshot/changes.ts";
import type { SnapshotIntake } from "./snapshot/intake.ts";
import type { PackedSnapshot } from "./snapshot/packed-snapshot.ts";
import { pageDelta } from "./snapshot/page-delta.ts";
import type { PageDelta } from "./snapshot/page-delta.ts";
import type { Sighting } from "./snapshot/sighting.ts";
import { elapsedSince, progressAfterFailure, progressAfterListing } from "./target-state.ts";
import { progressAfterUnsent } from "./target-state.ts";
import type { Elapsed, TargetProgress, TargetState } from "./target-state.ts";
import { retireUnowned } from "./unowned.ts";

export type PollOutcome =
  /** The intake was opened on the state's snapshot, and holds a whole listing. */
  | { readonly kind: "listed"; readonly intake: SnapshotIntake; readonly complete: boolean }
  | { readonly kind: "failed"; readonly reason: FailureReason }
  /** The key was refused a short time ago: no request was sent, so no poll failed. */
  | { readonly kind: "backing_off" };

/** What is decided by rules and settings rather than by the target. */
export interface JudgeOptions {
  readonly rules: readonly Rule[];
  /** Complete listings without a server before it counts as gone. */
  readonly goneAfter: number;
  /** Whether a receiver exists and, for a resolve, wants to hear of it. */
  readonly tells: (receiver: string, type: IncidentMessage) => boolean;
  readonly interventions: Interventions;
  readonly newIncidentId: () => string;
}

/** The next state of a target and all that must happen because of it, to be committed at once. */
export interface Verdict {
  readonly at: Instant;
  readonly progress: TargetProgress;
  /** The changes are read from it, too: whoever reads them later than the poll ends holds it. */
  readonly before: PackedSnapshot;
  /** The next one; of a failed poll the same as before. */
  readonly snapshot: PackedSnapshot;
  /** What the store must write of it; null when nothing was listed. */
  readonly pages: PageDelta | null;
  readonly changes: Changes;
  /** What these come to. */
  readonly counts: ChangeCounts;
  readonly incidents: IncidentOutcome;
  readonly booking: Booking;
  /** The same in buckets of the calendar, for the history. */
  readonly accounting: AccountsStep;
  /** What it means for the pools that the target adds to; null: there are none. */
  readonly pools: PoolOutcome | null;
  /** Whether the target went out of sight or came back; blind from the start counts as lost. */
  readonly sight: "lost" | "returned" | null;
}

/** Decides what one poll means. Pure: the same state, outcome and time give the same verdict. */
export function judgePoll(
  state: TargetState,
  outcome: PollOutcome,
  at: Instant,
  options: JudgeOptions,
): Verdict {
  return atOnce(judgeInSteps(state, outcome, at, options));
}

/** The same; the state must stay as it is until the end. */
export function* judgeInSteps(
  state: TargetState,
  outcome: PollOutcome,
  at: Instant,
  options: JudgeOptions,
): InSteps<Verdict> {
  switch (outcome.kind) {
    case "listed":
      return yield* judgeListing(state, outcome, at, options);
    case "failed":
      return judgeFailure(state, outcome.reason, at, options);
    case "backing_off":
      return judgeUnsent(state, at, options);
  }
}

/** Ends the incidents that no rule owns any more: it was removed, changed, or is not about this target. */
export function retireIncidents(
  state: LedgerState,
  atMs: number,
  options: JudgeOptions,
): IncidentOutcome {
  const ledger = openLedger(state, atMs, options);
  const rules = options.rules.filter((rule) => matchesTarget(rule.match, state.target));
  retireUnowned(ledger, state, rules);
  return ledger.outcome;
}

function* judgeListing(
  state: TargetState,
  { intake, complete }: Extract<PollOutcome, { kind: "listed" }>,
  at: Instant,
  options: JudgeOptions,
): InSteps<Verdict> {
  const elapsed = elapsedSince(state, at);
  const progress = progressAfterListing(state.progress, elapsed, at, complete);
  const witnessed = elapsed.fullyInSight && complete;
  const sighting = yield* intake.finish({
    complete,
    atMs: at.utcMs,
    observedMs: progress.observed.ms,
    witnessed,
  });
  const ledger = openLedger(state, at.utcMs, options);
  const passed: ClockReading = {
    ms: progress.observed.ms - state.progress.observed.ms,
    polls: 1,
  };
  yield* judgeServers(ledger, state, { sighting, now: progress.observed, passed }, options.rules);
  for (const rule of targetRules(options.rules, state.target)) {
    const holds = rule.trouble === "partial" && !complete;
    ledger.advance(
      rule,
      { kind: "target" },
      { kind: holds ? "holds" : "clears", now: progress.attempted },
      { status: null, previousStatus: null, condition: conditionOfTarget(rule) },
    );
  }
  const booking = bookTime(state.snapshot, elapsed.sinceLastPollMs, witnessed);
  const counts = yield* countChanges(sighting);
  return {
    at,
    progress,
    before: state.snapshot,
    snapshot: sighting.snapshot,
    pages: pageDelta(state.snapshot.pages, sighting.snapshot.pages),
    changes: sighting.changes,
    counts,
    incidents: ledger.outcome,
    booking,
    accounting: bookStretch(state.accounts, booking, at.utcMs, counts.endedStays),
    pools: null,
    sight: state.progress.failuresInARow > 0 ? "returned" : null,
  };
}

/** A failed poll touches nothing that was seen: only the target itself is judged by it. */
function judgeFailure(
  state: TargetState,
  reason: FailureReason,
  at: Instant,
  options: JudgeOptions,
): Verdict {
  const elapsed = elapsedSince(state, at);
  const progress = progressAfterFailure(state.progress, elapsed, at, reason);
  return judgeUnobserved(state, progress, elapsed, at, options);
}

/** The target stays down: durations go on, and no poll is counted. */
function judgeUnsent(state: TargetState, at: Instant, options: JudgeOptions): Verdict {
  const elapsed = elapsedSince(state, at);
  const progress = progressAfterUnsent(state.progress, elapsed, at);
  return judgeUnobserved(state, progress, elapsed, at, options);
}

function judgeUnobserved(
  state: TargetState,
  progress: TargetProgress,
  elapsed: Elapsed,
  at: Instant,
  options: JudgeOptions,
): Verdict {
  const ledger = openLedger(state, at.utcMs, options);
  const now = progress.attempted;
  const reason = progress.lastFailure ?? undefined;
  const { attempted } = state.progress;
  const passed = { ms: now.ms - attempted.ms, polls: now.polls - attempted.polls };
  for (const rule of targetRules(options.rules, state.target)) {
    // Any other failure hides whether the key is still refused, and each whether a listing is partial.
    const hidden = rule.trouble === "partial" || (rule.trouble === "auth" && reason !== "auth");
    ledger.advance(
      rule,
      { kind: "target" },
      hidden ? { kind: "unseen", passed } : { kind: "holds", now },
      { status: null, previousStatus: null, condition: conditionOfTarget(rule, reason) },
    );
  }
  const booking = bookTime(state.snapshot, elapsed.sinceLastPollMs, false);
  return {
    at,
    progress,
    before: state.snapshot,
    snapshot: state.snapshot,
    pages: null,
    changes: noChanges,
    counts: noCounts,
    incidents: ledger.outcome,
    booking,
    accounting: bookStretch(state.accounts, booking, at.utcMs, noCounts.endedStays),
    pools: null,
    sight: state.progress.failuresInARow === 0 || isFirstPoll(state) ? "lost" : null,
  };
}

/** Pieces of changes that are packed and counted in about a millisecond. */
const countedAtOnce = 4;

function* countChanges({ changes, snapshot }: Sighting): InSteps<ChangeCounts> {
  if (changes.length === 0) return noCounts;
  const counts = new CountedChanges(snapshot);
  let left = changes.length;
  let counted = 0;
  for (const piece of changes.pieces()) {
    if (counted++ % countedAtOnce === countedAtOnce - 1) yield;
    const count = Math.min(left, piece.length);
    left -= count;
    counts.addFirst(piece, count);
    changes.leave(piece);
    // Behind them come lapses.
    if (left === 0) break;
  }
  return counts.finish();
}

function isFirstPoll({ lastPollMonotonicMs }: TargetState): boolean {
  return lastPollMonotonicMs === null;
}

type LedgerState = Pick<TargetState, "target" | "incidents" | "flaps">;

function openLedger(
  { target, incidents, flaps }: LedgerState,
  atMs: number,
  { tells, interventions, newIncidentId }: JudgeOptions,
): IncidentLedger {
  const said = { tells, interventions, newIncidentId };
  return createIncidentLedger({ target, open: incidents, flaps, atMs, ...said });
}

function targetRules(rules: readonly Rule[], target: Target): readonly TargetRule[] {
  return rules.filter(
    (rule): rule is TargetRule => rule.on === "target" && matchesTarget(rule.match, target),
  );
}
