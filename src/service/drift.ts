import { problemText } from "../fleet/deviation.ts";
import { createDriftRegistry } from "../fleet/drift.ts";
import type { Drift, DriftRecord } from "../fleet/drift.ts";
import type { Clock } from "../lib/clock.ts";
import type { Logger } from "../lib/logger.ts";

/** What it needs of the store. */
export interface DriftStore {
  all(): Promise<readonly DriftRecord[]>;
  keep(records: readonly DriftRecord[], forgetBeforeMs: number): Promise<void>;
}

export interface DriftWatchDeps {
  readonly store: DriftStore;
  readonly clock: Clock;
  readonly log: Logger;
}

/** Counts and stores how responses deviate from the interface, and logs each kind of deviation once. */
export interface DriftWatch {
  add(drift: Drift): void;
  /** As of now, stored or not. */
  records(): readonly DriftRecord[];
  /** Stores what is not stored yet, and logs what is new. */
  runOnce(): Promise<void>;
  /** The same for the last time. */
  stop(): Promise<void>;
}

const dayMs = 24 * 60 * 60 * 1_000;

/** What was not seen for this long is forgotten; if it comes back, it is new again. */
const keptForMs = 90 * dayMs;

/** Counts grow with each poll, so they are stored at most this often. What is new is stored at once. */
const keepEveryMs = 60_000;

export async function createDriftWatch({ store, clock, log }: DriftWatchDeps): Promise<DriftWatch> {
  const registry = createDriftRegistry(await store.all());
  let unlogged: DriftRecord[] = [];
  let isFailing = false;
  let cancelTimer: (() => void) | null = null;
  let keeping: Promise<void> | null = null;
  let isStopped = false;

  const logNew = (records: readonly DriftRecord[]): void => {
    for (const record of records) {
      const { operation, region, field, problem, example } = record;
      log.warn(
        { event: "drift.seen", operation, region, field, problem, example },
        `${operation} in ${region}: ${problemText(record)}`,
      );
    }
  };

  // Logged only once it is stored: the other way round, a crash in between would have it logged twice.
  const keep = async (): Promise<void> => {
    const forgetBeforeMs = clock.now().utcMs - keptForMs;
    registry.forget(forgetBeforeMs);
    const records = registry.takeChanged();
    const toLog = unlogged;
    unlogged = [];
    try {
      await store.keep(records, forgetBeforeMs);
      isFailing = false;
      logNew(toLog);
    } catch (error) {
      registry.giveBack(records);
      unlogged = [...toLog, ...unlogged];
      if (!isFailing) {
        const fields = { event: "drift.not_kept", err: error };
        log.error(fields, "the store failed; drift is stored later");
      }
      isFailing = true;
    }
  };

  const keepNow = (): Promise<void> => {
    cancelTimer?.();
    cancelTimer = null;
    keeping ??= keep().finally(() => {
      keeping = null;
      keepLater();
    });
    return keeping;
  };

  const keepLater = (): void => {
    if (isStopped || !registry.hasChanged) return;
    if (unlogged.length > 0 && !isFailing) void keepNow();
    else cancelTimer ??= clock.setTimer(keepEveryMs, () => void keepNow());
  };

  const runOnce = async (): Promise<void> => {
    await keeping;
    if (registry.hasChanged) await keepNow();
  };

  return {
    add(drift) {
      unlogged.push(...registry.add(drift, clock.now().utcMs));
      if (keeping === null) keepLater();
    },
    records: () => registry.records(),
    runOnce,
    async stop() {
      isStopped = true;
      cancelTimer?.();
      await runOnce();
    },
  };
}
