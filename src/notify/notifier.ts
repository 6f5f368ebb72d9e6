import type { IncidentOutcome } from "../core/incident-ledger.ts";
import type { ReceiverJudgeOptions } from "../core/judge-receivers.ts";
import { delay, type Clock } from "../platform/clock.ts";
import type { Random } from "../platform/random.ts";
import { createDeliveryClock } from "./delivery-clock.ts";
import { createLane, type DeliveryReceiver } from "./lane.ts";
import { silentLog, type DeliveryObserver, type Log } from "./observer.ts";
import type { Outbox } from "./outbox.ts";

export interface DeliveryLoopDeps {
  readonly outbox: Outbox;
  readonly receivers: readonly DeliveryReceiver[];
  readonly clock: Clock;
  readonly random: Random;
  readonly log?: Log;
  readonly observe: DeliveryObserver;
  readonly judge: ReceiverJudgeOptions;
  /** What becomes of incidents of receivers, after it was committed. */
  readonly onIncidents?: (outcome: IncidentOutcome) => void;
  /** A receiver's worker woke and looked at the outbox. */
  readonly onTurn?: (receiver: string) => void;
}

export interface DeliveryLoop {
  /**
   * Looks for new items once they can be due. To be called after each commit that wrote some.
   *
   * @param causedAtMs none of them was caused before. UTC milliseconds; left out: they are read at once
   */
  wake(causedAtMs?: number): void;
  /** When what is pending from now on is due and given up, on the clock that decides about it. */
  readonly freshTimes: (receiver: string) => FreshTimes;
  /** Does all that is due now, and resolves when the attempts it led to have ended. */
  runOnce(): Promise<void>;
  start(): void;
  /**
   * Starts no attempt any more. Those in flight may go on for `graceMs` and are then cut short:
   * they stay pending, and the next process repeats them under the same id.
   */
  stop(options: { readonly graceMs: number }): Promise<void>;
}

/** Milliseconds of the delivery clock. */
export interface FreshTimes {
  readonly nextAttemptAtMs: number;
  readonly giveUpAtMs: number;
}

/** For a receiver that is not configured; who has it in its configuration later bounds it anew. */
export const usualGiveUpAfterMs = 24 * 60 * 60 * 1_000;

/**
 * Brings what is in the outbox to the receivers. Each has a lane of its own. The receivers are not
 * closed: who opened them does that.
 */
export function createDeliveryLoop({
  receivers,
  log = silentLog,
  onIncidents = () => {},
  ...deps
}: DeliveryLoopDeps): DeliveryLoop {
  const { clock } = deps;
  const deliveryClock = createDeliveryClock(clock);
  const wake = (causedAtMs?: number): void => lanes.forEach((lane) => lane.wake(causedAtMs));
  const onJudged = (outcome: IncidentOutcome): void => {
    onIncidents(outcome);
    if (outcome.outbox.length > 0) wake();
  };
  const common = { ...deps, log, deliveryClock, onJudged };
  const lanes = receivers.map((settings) => createLane(settings, common));
  const giveUpAfterMs = new Map(receivers.map((each) => [each.receiver.name, each.giveUpAfterMs]));
  /** What one lane does can be work for another. */
  const allIdle = async (): Promise<void> => {
    while (lanes.some(({ isBusy }) => isBusy)) await Promise.all(lanes.map((lane) => lane.idle()));
  };

  return {
    wake,
    freshTimes(receiver) {
      const nowMs = deliveryClock();
      const giveUpAtMs = nowMs + (giveUpAfterMs.get(receiver) ?? usualGiveUpAfterMs);
      return { nextAttemptAtMs: nowMs, giveUpAtMs };
    },
    async runOnce() {
      wake();
      await allIdle();
    },
    start: () => lanes.forEach((lane) => lane.start()),
    async stop({ graceMs }) {
      lanes.forEach((lane) => lane.stop());
      const settled = new AbortController();
      const idle = allIdle().finally(() => settled.abort());
      await delay(clock, graceMs, settled.signal);
      lanes.forEach((lane) => lane.abort());
      await idle;
      lanes.forEach((lane) => lane.close());
    },
  };
}
