import { setImmediate } from "node:timers/promises";
import type { IncidentOutcome } from "../core/incident-ledger.ts";
import { judgeReceiver } from "../core/judge-receivers.ts";
import type { ReceiverJudgeOptions, ReceiverState } from "../core/judge-receivers.ts";
import type { Clock } from "../platform/clock.ts";
import type { Log } from "./observer.ts";

/** What upkeep needs of the store. */
export interface UpkeepStore {
  readonly untargeted: {
    judgeReceivers(
      judge: (state: ReceiverState) => IncidentOutcome,
    ): Promise<readonly IncidentOutcome[]>;
  };
  pruneNotifications(bounds: {
    readonly deliveredBeforeMs: number;
    readonly deadBeforeMs: number;
  }): Promise<boolean>;
}

export interface UpkeepDeps {
  readonly store: UpkeepStore;
  readonly clock: Clock;
  readonly judge: ReceiverJudgeOptions;
  readonly log: Log;
  /** To be called with what was committed; there may be more to deliver. */
  readonly onJudged: (outcome: IncidentOutcome) => void;
}

/** What delivery does beside delivering: looks at what receivers are in, and throws away the old. */
export interface Upkeep {
  /** Does what is due: every minute the receivers' incidents are looked at and a little is pruned. */
  runOnce(): Promise<void>;
  /** Does that by itself from now on. */
  start(): void;
  stop(): Promise<void>;
}

const everyMs = 60_000;
const dayMs = 24 * 60 * 60 * 1_000;

/** For as long people can look up what was sent. */
const keepDeliveredMs = 30 * dayMs;

/** For as long what was given up waits for somebody to replay or to discard it. */
const keepDeadMs = 90 * dayMs;

/** Polls commit between the steps, and not every turn has to get through. */
const stepsPerTurn = 20;

export function createUpkeep({ store, clock, judge, log, onJudged }: UpkeepDeps): Upkeep {
  const stopped = new AbortController();
  let turn: Promise<void> | null = null;
  let cancelTimer = (): void => {};
  /** On the monotonic clock. */
  let dueAtMs = -Infinity;

  const prune = async (): Promise<void> => {
    const nowMs = clock.now().utcMs;
    const bounds = {
      deliveredBeforeMs: nowMs - keepDeliveredMs,
      deadBeforeMs: nowMs - keepDeadMs,
    };
    for (let step = 0; step < stepsPerTurn && !stopped.signal.aborted; step++) {
      if (!(await store.pruneNotifications(bounds))) return;
      await setImmediate();
    }
  };

  const review = async (): Promise<void> => {
    const atMs = clock.now().utcMs;
    const outcomes = await store.untargeted.judgeReceivers((state) =>
      judgeReceiver(state, { kind: "time_passed" }, atMs, judge),
    );
    outcomes.forEach(onJudged);
  };

  const runOnce = async (): Promise<void> => {
    const nowMs = clock.now().monotonicMs;
    if (nowMs < dueAtMs) return;
    dueAtMs = nowMs + everyMs;
    await review();
    await prune();
  };

  const takeTurn = async (): Promise<void> => {
    try {
      await runOnce();
    } catch (error) {
      const fields = { event: "delivery.upkeep_failed", error: String(error) };
      log.error(fields, "the store failed: old notifications stay for another minute");
    }
    turn = null;
    arm();
  };

  const arm = (): void => {
    if (stopped.signal.aborted) return;
    cancelTimer = clock.setTimer(everyMs, () => {
      turn = takeTurn();
    });
  };

  return {
    runOnce,
    start() {
      turn = takeTurn();
    },
    async stop() {
      stopped.abort();
      cancelTimer();
      await turn;
    },
  };
}
