import { setImmediate } from "node:timers/promises";
import type { Config } from "../config/config.ts";
import { rolledUp } from "../fleet/buckets.ts";
import type { Clock, LastRuns } from "../lib/clock.ts";
import type { Logger } from "../lib/logger.ts";
import type { Store } from "../store/store.ts";

/** Something that is maintained from time to time, a little at a time. */
export interface Chore {
  /** What it does, in words: "deleting old changes". */
  readonly what: string;
  /** Whether it is due at the start too: it is short, and what it finds may not wait. */
  readonly isDueAtStart?: boolean;
  /**
   * Does a little of it. Polls commit between the steps.
   *
   * @returns whether there may be more to do
   */
  step(): Promise<boolean>;
}

export interface UpkeepDeps {
  readonly clock: Clock;
  readonly log: Pick<Logger, "error">;
  /** When a run or a step of it last began or ended: "upkeep upkeep". */
  readonly runs?: LastRuns;
}

export const upkeepEveryMs = 60_000;

/** A run need not complete everything: 10,000 targets write 100,000 rows in an hour, and a step deletes 500. */
const stepsPerRun = 200;

export type Upkeep = ReturnType<typeof createUpkeep>;

/** Runs some steps of each chore every minute. */
export function createUpkeep({ clock, log, runs }: UpkeepDeps) {
  const noteRun = (): void => void runs?.set("upkeep upkeep", clock.now());
  const chores = new Set<Chore>();
  const stopped = new AbortController();
  let running: Promise<void> | null = null;
  let cancelTimer = (): void => {};
  /** On the monotonic clock. */
  let dueAtMs = -Infinity;
  /** Chores whose last run failed. A failure is logged once. */
  const failing = new Set<Chore>();

  const runChore = async (chore: Chore): Promise<void> => {
    for (let step = 0; step < stepsPerRun && !stopped.signal.aborted; step++) {
      const hasMore = await chore.step();
      noteRun();
      if (!hasMore) return;
      await setImmediate();
    }
  };

  /** A chore that fails does not keep the others from running. */
  const runDue = async (
    due: readonly Chore[],
    onFailure: (chore: Chore, error: unknown) => void,
  ): Promise<void> => {
    const nowMs = clock.now().monotonicMs;
    if (nowMs < dueAtMs) return;
    dueAtMs = nowMs + upkeepEveryMs;
    for (const chore of due) {
      await runChore(chore).then(
        () => void failing.delete(chore),
        (error: unknown) => onFailure(chore, error),
      );
    }
  };

  const runByItself = async (due: readonly Chore[]): Promise<void> => {
    noteRun();
    await runDue(due, (chore, error) => {
      if (failing.has(chore)) return;
      failing.add(chore);
      log.error(
        { event: "upkeep.failed", error: String(error) },
        `${chore.what} failed; it is retried every minute, and logged again only after it has succeeded`,
      );
    });
    noteRun();
    if (stopped.signal.aborted) return;
    cancelTimer = clock.setTimer(upkeepEveryMs, () => void (running = runByItself([...chores])));
  };

  return {
    add(added: readonly Chore[]): void {
      for (const chore of added) chores.add(chore);
    },
    /** Does what is due. Rejects when one of the chores failed. */
    async runOnce(): Promise<void> {
      const errors: unknown[] = [];
      await runDue([...chores], (_, error) => errors.push(error));
      if (errors.length > 0) throw errors[0];
    },
    /** Does what is due at the start, and all a minute later and so on: scrapes and polls come first. */
    start(): void {
      running = runByItself([...chores].filter(({ isDueAtStart }) => isDueAtStart));
    },
    async stop(): Promise<void> {
      stopped.abort();
      cancelTimer();
      await running;
    },
  };
}

const hourMs = 60 * 60 * 1_000;
const dayMs = 24 * hourMs;

/**
 * Deletes what was kept for long enough, all of it about once an hour.
 *
 * @param keep for how long the history is kept; null: for ever
 * @param receivers the configured ones
 */
export function retentionChores(
  { prune }: Pick<Store, "prune">,
  keep: Config["history"],
  clock: Pick<Clock, "now">,
  receivers: readonly string[],
): readonly Chore[] {
  const nowMs = (): number => clock.now().utcMs;
  const chore = (
    what: string,
    forMs: number | null,
    step: (beforeMs: number) => Promise<boolean>,
  ): readonly Chore[] => {
    if (forMs === null) return [];
    let restsUntilMs = -Infinity;
    return [
      {
        what: `deleting old ${what}`,
        async step() {
          const { utcMs, monotonicMs } = clock.now();
          if (monotonicMs < restsUntilMs) return false;
          const hasMore = await step(utcMs - forMs);
          if (!hasMore) restsUntilMs = monotonicMs + hourMs;
          return hasMore;
        },
      },
    ];
  };

  return [
    ...chore("notifications", 30 * dayMs, (deliveredBeforeMs) =>
      prune.notifications({ deliveredBeforeMs, deadBeforeMs: nowMs() - 90 * dayMs }),
    ),
    ...chore("notifications for removed receivers", 90 * dayMs, (beforeMs) =>
      prune.owedItems(beforeMs, receivers),
    ),
    ...chore("changes", keep.changes, (beforeMs) => prune.changes(beforeMs)),
    ...chore("gaps", keep.changes, (beforeMs) => prune.gaps(beforeMs)),
    ...chore("incidents", keep.changes, prune.incidents),
    ...chore("silences", 30 * dayMs, (beforeMs) => prune.silences(beforeMs)),
    ...rolledUp.flatMap((resolution) =>
      chore(`rollups of ${resolution}`, keep.rollups[resolution], (beforeMs) =>
        prune.rollups(resolution, beforeMs, nowMs()),
      ),
    ),
  ];
}
