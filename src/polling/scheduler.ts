import { phaseOf } from "../fleet/schedule.ts";
import type { Clock } from "../lib/clock.ts";
import type { Ticker } from "./ticker.ts";

export interface SchedulerDeps<U> {
  readonly units: readonly U[];
  readonly ticker: Ticker;
  readonly clock: Clock;
  /** Never rejects. `deadlineMs`: when its next run is due, monotonic. */
  readonly run: (unit: U, deadlineMs: number) => Promise<void>;
}

/**
 * The first runs are spread over this time, or where there are very many units over more: a machine that begins thousands
 * at once answers none in time. Rounds are no slower, so no first run waits longer than for a round.
 */
const firstRunsWithinMs = 2_000;
const firstRunsApartMs = 50;
const leastApartMs = 5;

/** Runs that are due within this time start together: a batch of calls costs less than single ones. */
const batchMs = 100;

/** A schedule with long intervals is expected to poll near its moments. */
const longestSpreadMs = 60_000;

/** A round that starts late, as the process was held up, can have hardly any time left. */
const leastTimeMs = 1_000;

interface Slot<U> {
  readonly unit: U;
  /** From 0 (included) to 1 (excluded). */
  readonly phase: number;
}

export interface Scheduled {
  readonly name: string;
  /** Whether its first run comes before those of others. Default: no. */
  readonly isUrgent?: () => boolean;
}

export type Scheduler<U extends Scheduled> = ReturnType<typeof createScheduler<U>>;

interface Walk {
  /** Calls back for what is due by now: a phase at the very end of a round must not be lost to a late timer. */
  end(): void;
}

/** Runs every unit once in each round, at its own phase, and never one twice at a time. */
export function createScheduler<U extends Scheduled>(deps: SchedulerDeps<U>) {
  const { ticker, clock, run } = deps;
  /** By phase. */
  const slots: readonly Slot<U>[] = deps.units
    .map((unit) => ({ unit, phase: phaseOf(unit.name) }))
    .toSorted((one, other) => one.phase - other.phase);
  const underWay = new Map<U, Promise<void>>();
  const firstRunMs = new Map<U, number>();
  let stopped = false;
  let firstWalk: Walk | null = null;
  let roundWalk: Walk | null = null;

  const start = (unit: U, dueMs: number, lengthMs: number): void => {
    if (stopped || underWay.has(unit)) return;
    const nowMs = clock.now().monotonicMs;
    // A run that starts late, as the process was held up, would otherwise be over before it began: that would
    // look like a rate limit that leaves no request.
    const startedMs = nowMs - dueMs > lengthMs / 2 ? nowMs : dueMs;
    const deadlineMs = startedMs + Math.max(lengthMs, leastTimeMs);
    const ended = run(unit, deadlineMs).finally(() => underWay.delete(unit));
    underWay.set(unit, ended);
  };

  const startFirstRuns = (): void => {
    const isUrgent = ({ unit }: Slot<U>): boolean => unit.isUrgent?.() ?? false;
    const some = [...slots.filter(isUrgent), ...slots.filter((slot) => !isUrgent(slot))];
    const startedMs = clock.now().monotonicMs;
    const count = Math.max(1, some.length);
    const apartMs = Math.min(
      firstRunsApartMs,
      Math.max(leastApartMs, firstRunsWithinMs / count),
      Math.min(ticker.intervalMs, longestSpreadMs) / count,
    );
    const dueMs = (_: Slot<U>, index: number): number => startedMs + index * apartMs;
    for (const [index, slot] of some.entries()) firstRunMs.set(slot.unit, dueMs(slot, index));
    firstWalk = walk(clock, some, dueMs, (unit, atMs) => start(unit, atMs, ticker.intervalMs));
  };

  const walkRound = (lengthMs: number): void => {
    const startedMs = clock.now().monotonicMs;
    // Before a pause of the schedule, runs are where they always are: spread over all of it they would be late.
    const usualMs = Math.min(lengthMs, ticker.intervalMs);
    const spreadMs = Math.min(usualMs, longestSpreadMs);
    const dueMs = ({ phase }: Slot<U>): number =>
      startedMs + Math.floor((phase * spreadMs) / batchMs) * batchMs;
    roundWalk = walk(clock, slots, dueMs, (unit, atMs) => {
      // Right after the start a unit's phase can follow its first run too closely.
      const first = firstRunMs.get(unit);
      if (first !== undefined && atMs - first < usualMs / 2) return;
      firstRunMs.delete(unit);
      start(unit, atMs, lengthMs);
    });
  };

  return {
    start(): void {
      startFirstRuns();
      ticker.start((lengthMs) => {
        roundWalk?.end();
        walkRound(lengthMs);
      });
    },
    /** Starts no more runs; resolves when those in progress have ended. */
    async stop(): Promise<void> {
      stopped = true;
      ticker.stop();
      roundWalk?.end();
      firstWalk?.end();
      await Promise.all(underWay.values());
    },
  };
}

/**
 * Calls back for each slot when it is due, with one timer at a time: thousands of units cost one timer. The
 * due times must not decrease.
 */
function walk<U>(
  clock: Clock,
  slots: readonly Slot<U>[],
  dueMs: (slot: Slot<U>, index: number) => number,
  onDue: (unit: U, dueMs: number) => void,
): Walk {
  let index = 0;
  let cancel = (): void => {};
  const takeDue = (): number | null => {
    for (let slot = slots[index]; slot; slot = slots[index]) {
      const atMs = dueMs(slot, index);
      const aheadMs = atMs - clock.now().monotonicMs;
      if (aheadMs > 0) return aheadMs;
      index += 1;
      onDue(slot.unit, atMs);
    }
    return null;
  };
  const go = (): void => {
    const aheadMs = takeDue();
    if (aheadMs !== null) cancel = clock.setTimer(aheadMs, go);
  };
  go();
  return {
    end() {
      cancel();
      takeDue();
    },
  };
}
