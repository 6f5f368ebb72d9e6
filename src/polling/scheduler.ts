import { phaseOf } from "../fleet/schedule.ts";
import type { Clock } from "../lib/clock.ts";
import type { Ticker } from "./ticker.ts";

export interface SchedulerDeps<U> {
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
  isOver(): boolean;
  /** Calls back for what is due by now: a phase at the very end of a round must not be lost to a late timer. */
  end(): void;
}

/** Runs every unit once in each round, at its own phase, and never one twice at a time. */
export function createScheduler<U extends Scheduled>(deps: SchedulerDeps<U>) {
  const { ticker, clock, run } = deps;
  /** By phase. */
  let slots: readonly Slot<U>[] = [];
  const scheduled = new Set<U>();
  const underWay = new Map<U, Promise<void>>();
  const firstRunMs = new Map<U, number>();
  let started = false;
  let stopped = false;
  let round = { startedMs: -Infinity, lengthMs: 0 };
  /** One for the units that were there at the start, and one for each addition since. */
  let firstWalks: readonly Walk[] = [];
  let roundWalks: readonly Walk[] = [];

  const start = (unit: U, dueMs: number, lengthMs: number): void => {
    if (stopped || !scheduled.has(unit) || underWay.has(unit)) return;
    const nowMs = clock.now().monotonicMs;
    // A run that starts late, as the process was held up, would otherwise be over before it began: that would
    // look like a rate limit that leaves no request.
    const startedMs = nowMs - dueMs > lengthMs / 2 ? nowMs : dueMs;
    const deadlineMs = startedMs + Math.max(lengthMs, leastTimeMs);
    const ended = run(unit, deadlineMs).finally(() => underWay.delete(unit));
    underWay.set(unit, ended);
  };

  const startFirstRuns = (added: readonly Slot<U>[]): void => {
    const isUrgent = ({ unit }: Slot<U>): boolean => unit.isUrgent?.() ?? false;
    const some = [...added.filter(isUrgent), ...added.filter((slot) => !isUrgent(slot))];
    const startedMs = clock.now().monotonicMs;
    const count = Math.max(1, some.length);
    const apartMs = Math.min(
      firstRunsApartMs,
      Math.max(leastApartMs, firstRunsWithinMs / count),
      Math.min(ticker.intervalMs, longestSpreadMs) / count,
    );
    const dueMs = (_: Slot<U>, index: number): number => startedMs + index * apartMs;
    for (const [index, slot] of some.entries()) firstRunMs.set(slot.unit, dueMs(slot, index));
    const first = walk(clock, some, dueMs, (unit, atMs) => start(unit, atMs, ticker.intervalMs));
    firstWalks = [...firstWalks.filter((each) => !each.isOver()), first];
  };

  /** Before a pause of the schedule, runs are where they always are: spread over all of it they would be late. */
  const usualMs = (): number => Math.min(round.lengthMs, ticker.intervalMs);

  const dueInRoundMs = ({ phase }: Slot<U>): number =>
    round.startedMs +
    Math.floor((phase * Math.min(usualMs(), longestSpreadMs)) / batchMs) * batchMs;

  const walkRound = (some: readonly Slot<U>[]): void => {
    const { lengthMs } = round;
    const latestFirstMs = usualMs() / 2;
    const rest = walk(clock, some, dueInRoundMs, (unit, atMs) => {
      // Right after the start a unit's phase can follow its first run too closely.
      const first = firstRunMs.get(unit);
      if (first !== undefined && atMs - first < latestFirstMs) return;
      firstRunMs.delete(unit);
      start(unit, atMs, lengthMs);
    });
    roundWalks = [...roundWalks, rest];
  };

  return {
    start(): void {
      started = true;
      startFirstRuns(slots);
      ticker.start((lengthMs) => {
        for (const each of roundWalks) each.end();
        roundWalks = [];
        round = { startedMs: clock.now().monotonicMs, lengthMs };
        walkRound(slots);
      });
    },
    /** Runs these from now on too, once the scheduler is started: the first time soon. */
    add(units: readonly U[]): void {
      const byPhase = (one: Slot<U>, other: Slot<U>): number => one.phase - other.phase;
      const added = units.map((unit) => ({ unit, phase: phaseOf(unit.name) })).toSorted(byPhase);
      for (const unit of units) scheduled.add(unit);
      slots = [...slots, ...added].toSorted(byPhase);
      if (!started || stopped) return;
      startFirstRuns(added);
      const nowMs = clock.now().monotonicMs;
      walkRound(added.filter((slot) => dueInRoundMs(slot) > nowMs));
    },
    /** Starts no more runs; resolves when those in progress have ended. */
    async stop(): Promise<void> {
      stopped = true;
      ticker.stop();
      for (const each of [...roundWalks, ...firstWalks]) each.end();
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
    isOver: () => index === slots.length,
    end() {
      cancel();
      takeDue();
    },
  };
}
