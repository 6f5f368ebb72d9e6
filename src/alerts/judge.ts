import { endedDwells, gapBefore, recordTime } from "../fleet/accounting.ts";
import type { Accounting, Gap, Stretch } from "../fleet/accounting.ts";
import { diffSnapshots, noDiff } from "../fleet/diff.ts";
import type { Diff } from "../fleet/diff.ts";
import { nextSnapshot } from "../fleet/next-snapshot.ts";
import { runAtOnce } from "../fleet/slices.ts";
import type { Slices } from "../fleet/slices.ts";
import type { Listing, Snapshot } from "../fleet/snapshot.ts";
import { conditionOfTarget } from "./condition.ts";
import { createIncidentEngine } from "./incident-engine.ts";
import type { IncidentEngine, IncidentOutcome } from "./incident-engine.ts";
import type { ClockReading } from "./incident-phase.ts";
import { judgeServers } from "./judge-servers.ts";
import type { Interventions } from "./interventions.ts";
import { matchesTarget } from "./matching.ts";
import type { FailureReason, Instant, Target } from "../fleet/model.ts";
import type { IncidentMessage } from "./notification.ts";
import type { PoolOutcome } from "./pool-watch.ts";
import type { Rule, TargetRule } from "./rule.ts";
import {
  elapsedSince,
  progressAfterFailure,
  progressAfterListing,
  progressAfterUnsent,
} from "./target-state.ts";
import type { Elapsed, TargetProgress, TargetState } from "./target-state.ts";
import { retireUnowned } from "./unowned.ts";

export type PollOutcome =
  | { readonly kind: "listed"; readonly listing: Listing }
  | { readonly kind: "failed"; readonly reason: FailureReason }
  /** A refused key is not asked again yet: nothing was sent, so no poll is counted. */
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
  /** Of a failed poll the same object as before. */
  readonly snapshot: Snapshot;
  /** What differs from the snapshot before. */
  readonly diff: Diff;
  readonly incidents: IncidentOutcome;
  /** The time since the poll before. */
  readonly stretch: Stretch;
  /** Time of the calendar before it in which nobody observed the target; null: there was none. */
  readonly gap: Gap | null;
  /** The time since the poll before in buckets of the calendar, for the history. */
  readonly accounting: Accounting;
  /** What it means for the pools that the target adds to; null: there are none. */
  readonly pools: PoolOutcome | null;
  /** Whether the target went down or came back; a target that is down from the start counts as lost. */
  readonly reachability: "lost" | "returned" | null;
}

/** Decides what one poll means. Pure: the same state, outcome and time give the same verdict. */
export function judgePoll(
  state: TargetState,
  outcome: PollOutcome,
  at: Instant,
  options: JudgeOptions,
): Verdict {
  return runAtOnce(judgeInSlices(state, outcome, at, options));
}

/** The same, in slices; the state must stay as it is until the end. */
export function* judgeInSlices(
  state: TargetState,
  outcome: PollOutcome,
  at: Instant,
  options: JudgeOptions,
): Slices<Verdict> {
  switch (outcome.kind) {
    case "listed":
      return yield* judgeListing(state, outcome.listing, at, options);
    case "failed":
      return judgeFailure(state, outcome.reason, at, options);
    case "backing_off":
      return judgeUnsent(state, at, options);
  }
}

/** Ends the incidents that no rule owns any more: it was removed, changed, or is not about this target. */
export function retireIncidents(
  state: EngineState,
  atMs: number,
  options: JudgeOptions,
): IncidentOutcome {
  const engine = openEngine(state, atMs, options);
  const rules = options.rules.filter((rule) => matchesTarget(rule.match, state.target));
  retireUnowned(engine, state, rules);
  return engine.outcome;
}

function* judgeListing(
  state: TargetState,
  listing: Listing,
  at: Instant,
  options: JudgeOptions,
): Slices<Verdict> {
  const { complete } = listing;
  const elapsed = elapsedSince(state, at);
  const progress = progressAfterListing(state.progress, elapsed, at, complete);
  const witnessed = elapsed.isFullyObserved && complete;
  const observation = {
    atMs: at.utcMs,
    observedMs: progress.observed.ms,
    witnessed,
    goneAfter: options.goneAfter,
  };
  const before = state.snapshot;
  const snapshot = yield* nextSnapshot(before, listing, observation);
  const diff = yield* diffSnapshots(before, snapshot, observation);
  const engine = openEngine(state, at.utcMs, options);
  const passed: ClockReading = {
    ms: progress.observed.ms - state.progress.observed.ms,
    polls: 1,
  };
  const observed = { snapshot, diff, complete, now: progress.observed, passed };
  yield* judgeServers(engine, state, observed, options.rules);
  for (const rule of targetRules(options.rules, state.target)) {
    const holds = rule.trouble === "partial" && !complete;
    engine.advance(
      rule,
      { kind: "target" },
      { kind: holds ? "holds" : "clears", now: progress.attempted },
      { status: null, previousStatus: null, condition: conditionOfTarget(rule) },
    );
  }
  const stretch: Stretch = {
    elapsedMs: elapsed.sinceLastPollMs,
    observed: witnessed,
    tallies: before.tallies.names,
  };
  const dwells = endedDwells(diff.changes, snapshot.tallies);
  return {
    at,
    progress,
    snapshot,
    diff,
    incidents: engine.outcome,
    stretch,
    gap: gapBefore(stretch, state.progress.lastPollAtMs, at.utcMs),
    accounting: recordTime(state.buckets, stretch, at.utcMs, dwells),
    pools: null,
    reachability: state.progress.failuresInARow > 0 ? "returned" : null,
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
  const engine = openEngine(state, at.utcMs, options);
  const now = progress.attempted;
  const reason = progress.lastFailure ?? undefined;
  const { attempted } = state.progress;
  const passed = { ms: now.ms - attempted.ms, polls: now.polls - attempted.polls };
  for (const rule of targetRules(options.rules, state.target)) {
    // Any other failure hides whether the key is still refused, and each whether a listing is partial.
    const hidden = rule.trouble === "partial" || (rule.trouble === "auth" && reason !== "auth");
    engine.advance(
      rule,
      { kind: "target" },
      hidden ? { kind: "unobserved", passed } : { kind: "holds", now },
      { status: null, previousStatus: null, condition: conditionOfTarget(rule, reason) },
    );
  }
  const stretch: Stretch = {
    elapsedMs: elapsed.sinceLastPollMs,
    observed: false,
    tallies: state.snapshot.tallies.names,
  };
  return {
    at,
    progress,
    snapshot: state.snapshot,
    diff: noDiff,
    incidents: engine.outcome,
    stretch,
    gap: gapBefore(stretch, state.progress.lastPollAtMs, at.utcMs),
    accounting: recordTime(state.buckets, stretch, at.utcMs, new Map()),
    pools: null,
    reachability: state.progress.failuresInARow === 0 || isFirstPoll(state) ? "lost" : null,
  };
}

function isFirstPoll({ lastPollMonotonicMs }: TargetState): boolean {
  return lastPollMonotonicMs === null;
}

type EngineState = Pick<TargetState, "target" | "incidents" | "flaps">;

function openEngine(
  { target, incidents, flaps }: EngineState,
  atMs: number,
  { tells, interventions, newIncidentId }: JudgeOptions,
): IncidentEngine {
  const said = { tells, interventions, newIncidentId };
  return createIncidentEngine({ target, open: incidents, flaps, atMs, ...said });
}

function targetRules(rules: readonly Rule[], target: Target): readonly TargetRule[] {
  return rules.filter(
    (rule): rule is TargetRule => rule.on === "target" && matchesTarget(rule.match, target),
  );
}
