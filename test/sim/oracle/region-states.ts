import type { RegionRule } from "../draw/rules.ts";
import type { JudgedPoll } from "./target-polls.ts";

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

/** A poll is not decided in the very moment in which its answer ends. */
const toleranceMs = 1_000;

/** Whether at least half of a region's targets, and at least two, have failed for as long as its rule says: certainly, or possibly. */
export function fails({ hold }: RegionRule, state: RegionState, isSure: boolean): boolean {
  const toleratedMs = isSure ? -toleranceMs : toleranceMs;
  const failing = state.polls.filter(
    ({ kinds, failures, sinceUtcMs, stored }) =>
      kinds.length > 0 &&
      ("polls" in hold
        ? (isSure ? failures : Math.max(1, failures)) >= hold.polls
        : stored.utcMs - sinceUtcMs + toleratedMs >= hold.ms),
  );
  const targets = isSure ? state.targets : state.polls.length;
  return failing.length >= leastTargets && 2 * failing.length >= targets;
}
