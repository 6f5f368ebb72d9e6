import { diffSnapshots, noDiff, type Diff } from "../fleet/diff.ts";
import type { FailureReason, Instant } from "../fleet/model.ts";
import { nextSnapshot } from "../fleet/next-snapshot.ts";
import {
  recordPoll,
  type GapStep,
  type RecordedTime,
  type Stretch,
} from "../fleet/recorded-time.ts";
import { runAtOnce, type Slices } from "../fleet/slices.ts";
import type { Listing, Snapshot } from "../fleet/snapshot.ts";
import { IncidentEngine, noOutcome } from "./incident-engine.ts";
import type { AlertOptions } from "./incident-engine.ts";
import type { IncidentOutcome } from "./incident-engine.ts";
import { regionInhibitors, type Inhibitor } from "./recipients.ts";
import type { SubjectEvent } from "./incident-phase.ts";
import { counted } from "../fleet/text.ts";
import { countByStatus } from "../fleet/tallies.ts";
import { judgeSandboxes, judgeServers } from "./judge-statuses.ts";
import { failureText, matchesTarget, rulesOn } from "./rule.ts";
import type { Rule, TargetRule, TargetTrouble } from "./rule.ts";
import { conditionsOfTarget } from "./subjects.ts";
import {
  elapsedSince,
  isFullyObserved,
  progressAfterFailure,
  progressAfterListing,
} from "./target-state.ts";
import type { PollFailure, TargetProgress, TargetState } from "./target-state.ts";

export type PollOutcome =
  | { readonly kind: "listed"; readonly listing: Listing }
  | ({ readonly kind: "failed" } & PollFailure)
  /** A refused key is not asked again yet: nothing was sent, so no poll is counted. */
  | { readonly kind: "backing_off" };

export interface JudgeOptions extends AlertOptions {
  readonly rules: readonly Rule[];
  /** Complete listings without a server before it counts as gone. */
  readonly goneAfter: number;
}

/** The next state of a target and all that follows from it, to be committed at once. */
export interface Verdict {
  readonly at: Instant;
  readonly progress: TargetProgress;
  /** Of a failed poll the same object as before. */
  readonly snapshot: Snapshot;
  readonly diff: Diff;
  readonly incidents: IncidentOutcome;
  readonly stretch: Stretch;
  readonly gap: GapStep;
  /** Whether the target went down or came back; a target that is down from the start went down. */
  readonly reachability: "went_down" | "came_back" | null;
}

/** Whether a poll changed nothing but the clocks of its target: it was complete, as was the one before it, and showed the same. */
export function isQuiet({ stretch, gap, diff, incidents }: Verdict): boolean {
  const { written, dropped, flaps, outbox } = incidents;
  return (
    stretch.observed &&
    gap.closedAtMs === null &&
    gap.opened === null &&
    diff.servers.length + diff.sandboxes.length === 0 &&
    written.length + dropped.length + flaps.length + outbox.length === 0
  );
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

/** The same, in slices; the state must not change until the end. */
export function* judgeInSlices(
  state: TargetState,
  outcome: PollOutcome,
  at: Instant,
  options: JudgeOptions,
): Slices<Verdict> {
  if (outcome.kind === "listed") return yield* judgeListing(state, outcome.listing, at, options);
  return judgeFailure(state, outcome.kind === "failed" ? outcome : null, at, options);
}

/** Ends the incidents that no rule owns any more: it was removed, changed, or is not about this target. */
export function retireIncidents(
  state: Pick<TargetState, "target" | "incidents" | "flaps">,
  atMs: number,
  options: JudgeOptions,
): IncidentOutcome {
  const engine = new IncidentEngine(state, atMs, options);
  engine.retireUnowned(options.rules.filter(({ match }) => matchesTarget(match, state.target)));
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
  const stretch = {
    elapsedMs: elapsed.sinceLastPollMs,
    observed: elapsed.isFullyObserved && complete,
    tallies: state.snapshot.tallies,
  };
  const { recorded, gap } = recordTime(state, stretch, at, complete ? null : "partial");
  const progress = progressAfterListing(state.progress, elapsed, at, complete, recorded);
  // In a gap between two complete listings, a server may have changed long before this one.
  const momentKnown = stretch.observed && gap.opened === null;
  const observation = {
    atMs: recorded.toMs,
    observedMs: progress.observed.ms,
    momentKnown,
    goneAfter: options.goneAfter,
  };
  const snapshot = yield* nextSnapshot(state.snapshot, listing, observation);
  const diff = yield* diffSnapshots(state.snapshot, snapshot, observation);
  const reachability = state.progress.failuresInARow > 0 ? "came_back" : null;
  const poll = { at, progress, snapshot, diff, stretch, gap, reachability } as const;
  // The listing is the one before, which opened no incident: there is nothing that rules could change.
  const isKnown = snapshot === state.snapshot && complete && state.rulesApplied;
  if (isKnown && state.incidents.size + state.flaps.size === 0) {
    return { ...poll, incidents: noOutcome };
  }
  const engine = new IncidentEngine(state, at.utcMs, options);
  const passed = { ms: progress.observed.ms - state.progress.observed.ms, polls: 1 };
  const unobservedSinceMs = momentKnown ? null : state.progress.lastSuccessAtMs;
  const now = progress.observed;
  const { utcMs: atMs } = at;
  const observed = { atMs, snapshot, diff, complete, now, passed, unobservedSinceMs };
  // Each explains the next: while it fires that the target is down, receivers are not notified of its servers.
  const inhibitors = judgeTarget(engine, state, progress, options, ({ trouble }) => ({
    kind: trouble === "partial" && !complete ? "holds" : "clears",
    now: progress.attempted,
  }));
  const onServers = rulesOn("server", options.rules, state.target);
  const onSandboxes = rulesOn("sandbox", options.rules, state.target);
  yield* judgeServers(engine, state, { ...observed, inhibitors }, onServers);
  yield* judgeSandboxes(engine, state, { ...observed, inhibitors }, onSandboxes, onServers);
  return { ...poll, incidents: engine.outcome };
}

/**
 * Judges a target itself. That its key is refused comes first: it explains why polls fail, as an incident of the region
 * explains both.
 *
 * @returns the firing incidents that say that the target is down
 */
function judgeTarget(
  engine: IncidentEngine,
  state: TargetState,
  progress: TargetProgress,
  { rules, suppressions }: JudgeOptions,
  eventOf: (rule: TargetRule) => SubjectEvent,
): readonly Inhibitor[] {
  const { lastFailure, lastStatus, failuresInARow, attempted } = progress;
  const ofRegion = regionInhibitors(
    suppressions.regionsDown,
    rules,
    state.target,
    engine.recipients,
  );
  const onTarget = rulesOn("target", rules, state.target);
  const failure = lastFailure && {
    detail: `${failureText(lastFailure, lastStatus)}, ${counted(failuresInARow, "poll")} in a row`,
    unmonitored: countByStatus(state.snapshot.tallies.servers),
  };
  const holding: Inhibitor[] = [];
  const down: Inhibitor[] = [];
  const judge = (trouble: TargetTrouble, inhibitors: readonly Inhibitor[]): void => {
    for (const rule of onTarget.filter((each) => each.trouble === trouble)) {
      const subject = { kind: "target" } as const;
      const observed = { condition: conditionsOfTarget[trouble], ...failure };
      const incident = engine.advance(rule, subject, eventOf(rule), observed, inhibitors);
      if (trouble === "partial" || incident?.phase.name !== "firing") continue;
      const receivers = engine.recipients.informed(rule, subject);
      const inhibitor = { incidentId: incident.id, receivers };
      const { clearSinceMs, flapping } = incident.phase;
      if (clearSinceMs === null) holding.push(inhibitor);
      // A target that flaps may be up for long.
      if (clearSinceMs === null || !flapping) down.push(inhibitor);
    }
  };
  judge("auth", ofRegion);
  judge("failing", [...holding, ...ofRegion]);
  judge("partial", []);
  engine.flaps.forgetSettled(onTarget, attempted.ms);
  return down;
}

/**
 * A poll that observed nothing: only the target itself is judged by it.
 *
 * @param failure null: nothing was sent
 */
function judgeFailure(
  state: TargetState,
  failure: PollFailure | null,
  at: Instant,
  options: JudgeOptions,
): Verdict {
  const elapsed = elapsedSince(state, at);
  const stretch = {
    elapsedMs: elapsed.sinceLastPollMs,
    observed: false,
    tallies: state.snapshot.tallies,
  };
  const { recorded, gap } = recordTime(state, stretch, at, failure?.reason ?? "auth");
  const progress = progressAfterFailure(state.progress, elapsed, at, failure, recorded);
  const engine = new IncidentEngine(state, at.utcMs, options);
  const { attempted: now, lastFailure } = progress;
  const passed = { ms: elapsed.ms, polls: now.polls - state.progress.attempted.polls };
  judgeTarget(engine, state, progress, options, ({ trouble }) => {
    // Any other failure hides whether the key is still refused, and each whether a listing is partial.
    const isHidden = trouble === "partial" || (trouble === "auth" && lastFailure !== "auth");
    return isHidden ? { kind: "unobserved", passed } : { kind: "holds", now };
  });
  const wasUp = state.progress.failuresInARow === 0;
  const reachability = wasUp || state.lastPollMonotonicMs === null ? "went_down" : null;
  const { snapshot } = state;
  const { outcome: incidents } = engine;
  return {
    at,
    progress,
    snapshot,
    diff: noDiff,
    incidents,
    stretch,
    gap,
    reachability,
  };
}

function recordTime(
  { progress }: TargetState,
  { elapsedMs, observed }: Stretch,
  at: Instant,
  trouble: FailureReason | "partial" | null,
): { readonly recorded: RecordedTime; readonly gap: GapStep } {
  const wasOpen = !isFullyObserved(progress);
  return recordPoll(progress.recorded, { atMs: at.utcMs, elapsedMs, observed, trouble, wasOpen });
}
