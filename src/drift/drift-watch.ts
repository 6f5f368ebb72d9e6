import { createDriftLedger } from "../core/drift-ledger.ts";
import type { DriftRecord, DriftSighting } from "../core/drift-ledger.ts";
import type { Clock } from "../platform/clock.ts";
import type { Logger } from "../platform/logger.ts";
import { describeDrift } from "./describe-drift.ts";

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

/** Counts and keeps how answers differ from the interface, and says each kind of it once. */
export interface DriftWatch {
  saw(sighting: DriftSighting): void;
  /** As of now, kept or not. */
  records(): readonly DriftRecord[];
  /** Keeps what is not kept yet, as far as the store takes it, and says what is new. */
  runOnce(): Promise<void>;
  /** The same for the last time. */
  stop(): Promise<void>;
}

const dayMs = 24 * 60 * 60 * 1_000;

/** What has not been seen for as long is forgotten; should it come back, it is news again. */
const keptForMs = 90 * dayMs;

/** Counts grow with each poll: they are kept no more often. What is new is kept at once. */
const keepEveryMs = 60_000;

export async function createDriftWatch({ store, clock, log }: DriftWatchDeps): Promise<DriftWatch> {
  const ledger = createDriftLedger(await store.all());
  let unsaid: DriftRecord[] = [];
  let isFailing = false;
  let cancelTimer: (() => void) | null = null;
  let keeping: Promise<void> | null = null;
  let isStopped = false;

  const say = (records: readonly DriftRecord[]): void => {
    for (const record of records) {
      const { operation, region, field, problem, example } = record;
      log.warn(
        { event: "drift.seen", operation, region, field, problem, example },
        describeDrift(record),
      );
    }
  };

  // What is new is said once it is kept: the other way round, who is killed in between says it twice.
  const keep = async (): Promise<void> => {
    const forgetBeforeMs = clock.now().utcMs - keptForMs;
    ledger.forget(forgetBeforeMs);
    const records = ledger.takeChanged();
    const toSay = unsaid;
    unsaid = [];
    try {
      await store.keep(records, forgetBeforeMs);
      isFailing = false;
      say(toSay);
    } catch (error) {
      ledger.giveBack(records);
      unsaid = [...toSay, ...unsaid];
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
    if (isStopped || !ledger.hasChanged) return;
    if (unsaid.length > 0 && !isFailing) void keepNow();
    else cancelTimer ??= clock.setTimer(keepEveryMs, () => void keepNow());
  };

  const runOnce = async (): Promise<void> => {
    await keeping;
    if (ledger.hasChanged) await keepNow();
  };

  return {
    saw(sighting) {
      unsaid.push(...ledger.take(sighting, clock.now().utcMs));
      if (keeping === null) keepLater();
    },
    records: () => ledger.records(),
    runOnce,
    async stop() {
      isStopped = true;
      cancelTimer?.();
      await runOnce();
    },
  };
}
