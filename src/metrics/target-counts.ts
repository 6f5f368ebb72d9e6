import type { Verdict } from "../alerts/judge.ts";
import {
  type FailureReason,
  presences,
  statuses,
  type Presence,
  type Status,
} from "../fleet/model.ts";
import { unobservedMsOf } from "../fleet/recorded-time.ts";
import { statusAfter, statusBefore } from "../fleet/diff.ts";
import { aggregateName, countByStatus } from "../fleet/tallies.ts";
import type { CountByStatus, Tallies } from "../fleet/tallies.ts";

/** Per name, and of all sandboxes: the milliseconds in each status, and the changes between each two statuses. */
const numbersPerName = statuses.length + presences.length ** 2;

/** Upper bounds of the buckets of dwell times, in seconds: up to a week. */
export const dwellBounds = [10, 30, 60, 300, 900, 3_600, 14_400, 43_200, 86_400, 604_800];

/** Per status: the count of each bucket, including the one without an upper bound, and the sum. */
const numbersPerDwell = dwellBounds.length + 2;

/** What is counted of one target. The numbers only grow. */
export class TargetCounts {
  private polls = 0;
  private readonly failures = new Map<FailureReason, number>();
  private unobservedMs = 0;
  private readonly names = new Map<string, number>();
  private byName = new Float64Array(0);
  private readonly sandboxes = new Float64Array(numbersPerName);
  /** What was observed, and for how long, since that was last added up: while nothing changes, only the time is. */
  private observed: Tallies | null = null;
  private observedMs = 0;
  private readonly dwells = new Float64Array(statuses.length * numbersPerDwell);

  /** @param names The service chooses names, so their series start with the first server of a name. */
  constructor(names: Iterable<string>) {
    for (const name of names) this.startOf(name);
  }

  countPoll(failure: FailureReason | null): void {
    this.polls += 1;
    if (failure !== null) this.failures.set(failure, (this.failures.get(failure) ?? 0) + 1);
  }

  countVerdict({ stretch, diff, snapshot }: Verdict): void {
    this.unobservedMs += unobservedMsOf(stretch);
    if (stretch.observed) {
      if (stretch.tallies !== this.observed) this.addObserved();
      this.observed = stretch.tallies;
      this.observedMs += stretch.elapsedMs;
    }
    for (const change of diff.sandboxChanges) {
      add(this.sandboxes, pairOf(statusBefore(change), statusAfter(change)), 1);
    }
    for (const change of diff.changes) {
      const { before, after, dwellMs } = change;
      const name = aggregateName(snapshot.tallies, (after ?? before)?.name ?? null);
      const start = this.startOf(name);
      add(this.byName, start + pairOf(statusBefore(change), statusAfter(change)), 1);
      if (before && dwellMs !== null) this.countDwell(before.status, dwellMs / 1_000);
    }
  }

  /** The counts at this moment. */
  take() {
    this.addObserved();
    const names: readonly string[] = [...this.names.keys()];
    return {
      polls: this.polls,
      failures: new Map(this.failures),
      unobservedMs: this.unobservedMs,
      names,
      byName: this.byName.slice(0, names.length * numbersPerName),
      sandboxes: this.sandboxes.slice(),
      dwells: this.dwells.slice(),
    };
  }

  private addObserved(): void {
    if (!this.observed) return;
    const { names, listedSandboxes } = this.observed;
    addTime(this.sandboxes, 0, listedSandboxes, this.observedMs);
    for (const { name, listed } of names.values()) {
      if (countByStatus(listed) > 0)
        addTime(this.byName, this.startOf(name), listed, this.observedMs);
    }
    this.observedMs = 0;
  }

  private countDwell(status: Status, seconds: number): void {
    const start = statuses.indexOf(status) * numbersPerDwell;
    const bucket = dwellBounds.findIndex((bound) => seconds <= bound);
    add(this.dwells, start + (bucket < 0 ? dwellBounds.length : bucket), 1);
    add(this.dwells, start + dwellBounds.length + 1, seconds);
  }

  /** Where the numbers of a name start. */
  private startOf(name: string): number {
    const number = this.names.get(name) ?? this.names.size;
    if (number === this.names.size) {
      this.names.set(name, number);
      if (this.byName.length < this.names.size * numbersPerName) {
        const grown = new Float64Array(Math.ceil(this.names.size * 1.25) * numbersPerName);
        grown.set(this.byName);
        this.byName = grown;
      }
    }
    return number * numbersPerName;
  }
}

type TakenCounts = ReturnType<TargetCounts["take"]>;

function add(numbers: Float64Array, index: number, more: number): void {
  numbers[index] = (numbers[index] ?? 0) + more;
}

function addTime(
  numbers: Float64Array,
  start: number,
  counts: CountByStatus,
  elapsedMs: number,
): void {
  for (const [index, status] of statuses.entries()) {
    add(numbers, start + index, counts[status] * elapsedMs);
  }
}

function pairOf(from: Presence, to: Presence): number {
  return statuses.length + presences.indexOf(from) * presences.length + presences.indexOf(to);
}

/** What was counted of the servers of one name, or of sandboxes. */
export type SubjectCounts = Float64Array;

/** @param name its number */
export function countsOfName({ byName }: TakenCounts, name: number): SubjectCounts {
  return byName.subarray(name * numbersPerName, (name + 1) * numbersPerName);
}

export function observedSeconds(counts: SubjectCounts, status: Status): number {
  return (counts[statuses.indexOf(status)] ?? 0) / 1_000;
}

export function transitions(counts: SubjectCounts, from: Presence, to: Presence): number {
  return counts[pairOf(from, to)] ?? 0;
}

/** The count of each bucket, and the sum of dwell times in seconds. */
export function dwellsOf({ dwells }: TakenCounts, status: Status) {
  const start = statuses.indexOf(status) * numbersPerDwell;
  const buckets = dwells.subarray(start, start + dwellBounds.length + 1);
  return { buckets, sum: dwells[start + dwellBounds.length + 1] ?? 0 };
}
