import { setImmediate } from "node:timers/promises";
import type { Clock } from "../lib/clock.ts";

/** Something that is looked after now and then, a little at a time. */
export interface Chore {
  /** What it does, in words: "deleting old changes". */
  readonly what: string;
  /** Whether the start is a turn of it too: it is short, and what it finds may not wait. */
  readonly isDueAtStart?: boolean;
  /**
   * Does a little of it. Polls commit between the steps.
   *
   * @returns whether there may be more to do
   */
  step(): Promise<boolean>;
}

export interface UpkeepLog {
  error(fields: Readonly<Record<string, string>>, message: string): void;
}

export interface UpkeepDeps {
  readonly chores: readonly Chore[];
  readonly clock: Clock;
  readonly log: UpkeepLog;
  /** A turn or a step of it began or ended. */
  readonly onTurn?: () => void;
}

/** What is done beside polling and delivering. */
export interface Upkeep {
  /** Does what is due: every minute some steps of each chore. Rejects when one of them failed. */
  runOnce(): Promise<void>;
  /**
   * Does that by itself from now on. What is not due at the start has its first turn in a minute: a
   * start is waited for with scrapes and polls.
   */
  start(): void;
  stop(): Promise<void>;
}

export const upkeepEveryMs = 60_000;

/** Not every turn has to get through. */
const stepsPerTurn = 20;

export function createUpkeep({ chores, clock, log, onTurn = () => {} }: UpkeepDeps): Upkeep {
  const stopped = new AbortController();
  let turn: Promise<void> | null = null;
  let cancelTimer = (): void => {};
  /** On the monotonic clock. */
  let dueAtMs = -Infinity;
  /** Those that failed the last time: it is said once. */
  const failing = new Set<Chore>();

  const runChore = async (chore: Chore): Promise<void> => {
    for (let step = 0; step < stepsPerTurn && !stopped.signal.aborted; step++) {
      const hasMore = await chore.step();
      onTurn();
      if (!hasMore) return;
      await setImmediate();
    }
  };

  /** What one chore fails at is no reason to leave the others. */
  const runDue = async (
    due: readonly Chore[],
    onFailure: (chore: Chore, error: unknown) => void,
  ): Promise<void> => {
    const nowMs = clock.now().monotonicMs;
    if (nowMs < dueAtMs) return;
    dueAtMs = nowMs + upkeepEveryMs;
    for (const chore of due) {
      try {
        await runChore(chore);
        failing.delete(chore);
      } catch (error) {
        onFailure(chore, error);
      }
    }
  };

  const takeTurn = async (due: readonly Chore[]): Promise<void> => {
    await runDue(due, (chore, error) => {
      if (failing.has(chore)) return;
      failing.add(chore);
      const fields = { event: "upkeep.failed", error: String(error) };
      const message = `${chore.what} failed; it is retried every minute, and logged again only after it has succeeded`;
      log.error(fields, message);
    });
    onTurn();
    turn = null;
    arm();
  };

  const arm = (): void => {
    if (stopped.signal.aborted) return;
    cancelTimer = clock.setTimer(upkeepEveryMs, () => {
      onTurn();
      turn = takeTurn(chores);
    });
  };

  return {
    async runOnce() {
      const errors: unknown[] = [];
      await runDue(chores, (_, error) => errors.push(error));
      if (errors.length > 0) throw errors[0];
    },
    start() {
      turn = takeTurn(chores.filter(({ isDueAtStart }) => isDueAtStart));
    },
    async stop() {
      stopped.abort();
      cancelTimer();
      await turn;
    },
  };
}
