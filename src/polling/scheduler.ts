import { targetName } from "../core/model.ts";
import type { Target } from "../core/model.ts";
import { phaseOf } from "../core/schedule.ts";
import type { Clock } from "../platform/clock.ts";
import type { Ticker } from "./ticker.ts";

export interface SchedulerDeps<T extends Target = Target> {
  readonly targets: readonly T[];
  /** Tells them apart, and says where in a round each has its turn. Left out: `targetName`. */
  readonly nameOf?: (target: T) => string;
  readonly ticker: Ticker;
  readonly clock: Clock;
  /** A turn of a target. Never rejects. `deadlineMs`: when its next turn is, monotonic. */
  readonly poll: (target: T, deadlineMs: number) => Promise<void>;
}

/** Gives every target its turn in each round, at its own phase, never two at once. */
export interface Scheduler {
  start(): void;
  /** Starts no more turns; resolves when those under way have ended. */
  stop(): Promise<void>;
}

/** The first polls are spread, however many targets there are, over at most this long. */
const firstPollsWithinMs = 2_000;
const firstPollsApartMs = 50;

/**
 * Turns of a round that are due this close to one another begin together: of many calls at once each
 * costs a fraction of one alone.
 */
const togetherMs = 100;

/** Where a schedule has long intervals, whoever wrote it expects the polls near its moments. */
const longestSpreadMs = 60_000;

/** A round that begins late, the process having been held up, can have next to nothing left. */
const leastTimeMs = 1_000;

interface Turn<T> {
  readonly target: T;
  readonly phase: number;
}

export function createScheduler<T extends Target>({
  targets,
  nameOf = targetName,
  ticker,
  clock,
  poll,
}: SchedulerDeps<T>): Scheduler {
  const turns: readonly Turn<T>[] = targets
    .map((target) => ({ target, phase: phaseOf(nameOf(target)) }))
    .toSorted((a, b) => a.phase - b.phase);
  const underWay = new Map<string, Promise<void>>();
  const firstPollMs = new Map<string, number>();
  let endRound = (): void => {};
  let endFirstPolls = (): void => {};
  let stopped = false;

  const take = (target: T, turnMs: number, lengthMs: number): void => {
    const name = nameOf(target);
    if (stopped || underWay.has(name)) return;
    const nowMs = clock.now().monotonicMs;
    // A turn that comes late, for the same reason, would otherwise be over before it began: what the
    // process was held up for would be taken for a rate limit that leaves no room.
    const beganMs = nowMs - turnMs > lengthMs / 2 ? nowMs : turnMs;
    const deadlineMs = beganMs + Math.max(lengthMs, leastTimeMs);
    underWay.set(
      name,
      poll(target, deadlineMs).finally(() => underWay.delete(name)),
    );
  };

  const startFirstPolls = (): void => {
    const startedMs = clock.now().monotonicMs;
    const apartMs = Math.min(firstPollsApartMs, firstPollsWithinMs / Math.max(1, turns.length));
    for (const [index, { target }] of turns.entries()) {
      firstPollMs.set(nameOf(target), startedMs + index * apartMs);
    }
    const dueMs = (_: Turn<T>, index: number): number => startedMs + index * apartMs;
    endFirstPolls = walk(clock, turns, dueMs, (turn, turnMs) => {
      take(turn.target, turnMs, ticker.intervalMs);
    });
  };

  const startRound = (lengthMs: number): void => {
    const startedMs = clock.now().monotonicMs;
    // Before a pause turns are where they always are: further apart they would come late, or not at all.
    const usualMs = Math.min(lengthMs, ticker.intervalMs);
    const spreadMs = Math.min(usualMs, longestSpreadMs);
    const dueMs = ({ phase }: Turn<T>): number =>
      startedMs + Math.floor((phase * spreadMs) / togetherMs) * togetherMs;
    endRound();
    endRound = walk(clock, turns, dueMs, ({ target }, turnMs) => {
      // Right after the start a target's phase can follow its first poll too closely.
      const first = firstPollMs.get(nameOf(target));
      if (first !== undefined && turnMs - first < usualMs / 2) return;
      firstPollMs.delete(nameOf(target));
      take(target, turnMs, lengthMs);
    });
  };

  return {
    start() {
      startFirstPolls();
      ticker.start(startRound);
    },
    async stop() {
      stopped = true;
      ticker.stop();
      endRound();
      endFirstPolls();
      await Promise.all(underWay.values());
    },
  };
}

/**
 * Calls back for each turn when it is due, with one timer at a time: thousands of targets cost one
 * timer. The due times must not decrease. The returned function ends the walk, calling back for
 * what is due by then: a phase at the very end of a round must not be lost to a late timer.
 */
function walk<T>(
  clock: Clock,
  turns: readonly Turn<T>[],
  dueMs: (turn: Turn<T>, index: number) => number,
  onDue: (turn: Turn<T>, dueMs: number) => void,
): () => void {
  let index = 0;
  let cancel = (): void => {};
  const takeDue = (): number | null => {
    for (let turn = turns[index]; turn; turn = turns[index]) {
      const turnMs = dueMs(turn, index);
      const aheadMs = turnMs - clock.now().monotonicMs;
      if (aheadMs > 0) return aheadMs;
      index += 1;
      onDue(turn, turnMs);
    }
    return null;
  };
  const go = (): void => {
    const aheadMs = takeDue();
    if (aheadMs !== null) cancel = clock.setTimer(aheadMs, go);
  };
  go();
  return () => {
    cancel();
    takeDue();
  };
}
