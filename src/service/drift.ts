import { problemText } from "../fleet/deviation.ts";
import { createDriftRegistry } from "../fleet/drift.ts";
import type { Drift, DriftRecord } from "../fleet/drift.ts";
import type { Clock } from "../lib/clock.ts";
import type { Logger } from "../lib/logger.ts";

export interface DriftWatchDeps {
  readonly store: {
    all(): Promise<readonly DriftRecord[]>;
    keep(observed: readonly DriftRecord[], forgetBeforeMs: number): Promise<void>;
  };
  readonly clock: Clock;
  readonly log: Logger;
}

/** A deviation that was not observed for this long is forgotten; if it returns, it counts as new. */
const keptForMs = 90 * 24 * 60 * 60 * 1_000;

/** Counts grow with each poll, so they are stored at most this often. What is new is stored at once. */
const keepEveryMs = 60_000;

/** Counts and stores how responses deviate from the interface, and logs each kind of deviation once. */
export async function createDriftWatch({ store, clock, log }: DriftWatchDeps) {
  const registry = createDriftRegistry(await store.all());
  let unlogged: DriftRecord[] = [];
  let isFailing = false;
  let isStopped = false;
  let cancelTimer: (() => void) | null = null;
  let keeping: Promise<void> | null = null;

  // Logged only once it is stored: otherwise a crash in between would have it logged twice.
  const keep = async (): Promise<void> => {
    const forgetBeforeMs = clock.now().utcMs - keptForMs;
    registry.forget(forgetBeforeMs);
    const records = registry.takeChanged();
    const toLog = unlogged;
    unlogged = [];
    try {
      await store.keep(records, forgetBeforeMs);
      isFailing = false;
      for (const record of toLog) logDrift(log, record);
    } catch (err) {
      registry.giveBack(records);
      unlogged = [...toLog, ...unlogged];
      const message = "the store failed; drift is stored later";
      if (!isFailing) log.error({ event: "drift.not_kept", err }, message);
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
    add(drift: Drift): void {
      unlogged.push(...registry.add(drift, clock.now().utcMs));
      if (keeping === null) keepLater();
    },
    /** As of now, with what is stored. */
    async records(): Promise<readonly DriftRecord[]> {
      await runOnce();
      return store.all();
    },
    /** Stores what is not stored yet, and logs what is new. */
    runOnce,
    /** The same for the last time. */
    async stop(): Promise<void> {
      isStopped = true;
      cancelTimer?.();
      await runOnce();
    },
  };
}

function logDrift(log: Logger, record: DriftRecord): void {
  const { operation, region, field, problem, example } = record;
  log.warn(
    { event: "drift.seen", operation, region, field, problem, example },
    `${operation} in ${region}: ${problemText(record)}`,
  );
}
