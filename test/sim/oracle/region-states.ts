import type { RegionRule } from "../draw/rules.ts";
import type { Scenario } from "../scenario.ts";
import { longestPollDistanceMs } from "./due-polls.ts";
import type { FailureKind, JudgedPoll } from "./target-polls.ts";

/** The last polls of a region's targets, from a commit on. */
export interface RegionState {
  readonly atMs: number;
  readonly life: number;
  readonly moment: number;
  readonly utcMs: number;
  readonly polls: readonly JudgedPoll[];
  /** How many targets the region has, also those that were not polled yet. */
  readonly targets: number;
}

export function regionStatesOf(polls: readonly (readonly JudgedPoll[])[]): readonly RegionState[] {
  const last = new Map<number, JudgedPoll>();
  return polls
    .flatMap((own, target) => own.map((poll) => ({ target, poll })))
    .toSorted((one, other) => one.poll.stored.moment - other.poll.stored.moment)
    .map(({ target, poll }) => {
      last.set(target, poll);
      return { ...poll.stored, polls: [...last.values()], targets: polls.length };
    });
}

/** What was so at any time between two. */
export function inForce<Each extends { readonly atMs: number }>(
  all: readonly Each[],
  fromMs: number,
  toMs: number,
): readonly Each[] {
  return all.filter(({ atMs }, at) => atMs <= toMs && (all[at + 1]?.atMs ?? Infinity) >= fromMs);
}

/** One target that fails is no region that does. */
const leastTargets = 2;

const allKinds: readonly FailureKind[] = ["auth", "rate_limited", "outage"];

function failingBy(kind: FailureKind, { polls }: RegionState, isSure: boolean) {
  return polls.filter(({ kinds }) => kinds.includes(kind) && (!isSure || kinds.length === 1));
}

/** How several targets fail: certainly, or possibly. */
export function alikeIn(state: RegionState, isSure: boolean): ReadonlySet<FailureKind> {
  return new Set(allKinds.filter((kind) => failingBy(kind, state, isSure).length >= leastTargets));
}

/** Keys that are refused or limited are a failure of their region only if they are half of its keys. */
function isFailureOfRegion(kind: FailureKind, failing: number, targets: number): boolean {
  return kind === "outage" || 2 * failing >= targets;
}

/** A poll is not decided in the very moment in which its answer ends. */
const toleranceMs = 1_000;

/** Whether a target certainly began to fail soon after the first of its region: else that may be another cause. */
export function joins(
  { kinds, sinceUtcMs }: JudgedPoll,
  state: RegionState,
  { schedule, intervalMs }: Scenario,
): boolean {
  return kinds.every((kind) => {
    const first = Math.min(...failingBy(kind, state, false).map((each) => each.sinceUtcMs));
    return schedule === null && sinceUtcMs - first <= 2 * intervalMs - toleranceMs;
  });
}

/** Whether a target may have begun to fail soon after the first ones of its region, or while half of it failed. */
export function mayJoin(poll: JudgedPoll, state: RegionState, scenario: Scenario): boolean {
  const soonMs = 2 * longestPollDistanceMs(scenario) + toleranceMs;
  return poll.kinds.some((kind) => {
    const failing = failingBy(kind, state, false);
    // Which of them fail alike, or how far polls are apart, is not certain.
    const isVague = scenario.schedule !== null || failing.some(({ kinds }) => kinds.length > 1);
    if (isVague) return true;
    const since = failing.map(({ sinceUtcMs }) => sinceUtcMs).toSorted((one, other) => one - other);
    const gap = since.findIndex((ms, at) => (since[at + 1] ?? Infinity) - ms > soonMs);
    const before = since.filter((ms) => ms < poll.sinceUtcMs - scenario.intervalMs);
    return (
      poll.sinceUtcMs <= (since[gap] ?? -Infinity) + soonMs ||
      2 * before.length >= state.polls.length
    );
  });
}

/** Whether the incident of a region begins: several targets began to fail soon after one another, one for long enough. */
export function begins(
  { hold }: RegionRule,
  state: RegionState,
  scenario: Scenario,
  isSure: boolean,
): boolean {
  if (isSure && scenario.schedule !== null) return false;
  const toleratedMs = isSure ? -toleranceMs : toleranceMs;
  const soonMs = 2 * longestPollDistanceMs(scenario) + toleratedMs;
  const hasHeld = ({ failures, sinceUtcMs, stored }: JudgedPoll): boolean =>
    "polls" in hold
      ? Math.max(1, failures) >= hold.polls
      : stored.utcMs - sinceUtcMs + toleratedMs >= hold.ms;
  return allKinds.some((kind) => {
    const failing = failingBy(kind, state, isSure);
    const targets = isSure ? state.targets : state.polls.length;
    const inOrder = failing.toSorted((one, other) => one.sinceUtcMs - other.sinceUtcMs);
    return inOrder.some((one, at) => {
      const other = inOrder[at + 1];
      if (!other || other.sinceUtcMs - one.sinceUtcMs > soonMs) return false;
      const soon = inOrder.slice(at).filter((each) => each.sinceUtcMs - one.sinceUtcMs <= soonMs);
      // Others may follow closely.
      return isSure
        ? hasHeld(one) && isFailureOfRegion(kind, soon.length, targets)
        : inOrder.some(hasHeld) && isFailureOfRegion(kind, failing.length, targets);
    });
  });
}
