import type { IncidentOutcome } from "../alerts/incident-engine.ts";
import { delay } from "../lib/clock.ts";
import { createDeliveryWorker } from "./pipeline.ts";
import type { DeliveryReceiver, WorkerDeps } from "./pipeline.ts";
import { silentLog } from "./receiver.ts";
import type { Log } from "./receiver.ts";
import { freshTimes } from "./retry.ts";
import type { FreshTimes } from "./retry.ts";

export interface NotifierDeps extends Omit<WorkerDeps, "deliveryClock" | "log" | "onJudged"> {
  readonly receivers: readonly DeliveryReceiver[];
  readonly log?: Log;
  /** What became of incidents of receivers, after it was committed. */
  readonly onIncidents?: (outcome: IncidentOutcome) => void;
}

/** Brings what is in the outbox to the receivers. */
export interface Notifier {
  /**
   * Looks for new items once they can be due. To be called after each commit that wrote some.
   *
   * @param causedAtMs none of them was caused before. UTC milliseconds; default: they are read at once
   */
  wake(causedAtMs?: number): void;
  /** The times of a notification that becomes pending now. */
  readonly freshTimes: (receiver: string) => FreshTimes;
  /** Does all that is due now, and resolves when the attempts have ended. */
  runOnce(): Promise<void>;
  start(): void;
  /**
   * Begins no further attempt. Those in flight may go on for `graceMs` and are then cut short: their notifications stay
   * pending, and the next process sends them again under the same id.
   */
  stop(options: { readonly graceMs: number }): Promise<void>;
}

/** A wall clock that falls behind by more from one wake to the next was set back. */
const mostSlewMs = 1_000;

/** Has a delivery worker for each receiver. The receivers are not closed here. */
export function createNotifier({
  receivers,
  log = silentLog,
  onIncidents = () => {},
  ...deps
}: NotifierDeps): Notifier {
  const { clock } = deps;
  const start = clock.now();
  // UTC at the start plus the time since then on the monotonic clock: a stepped wall clock neither
  // hastens nor delays retries, and what is stored still means something to the next process.
  const deliveryClock = (): number =>
    Math.round(start.utcMs + clock.now().monotonicMs - start.monotonicMs);
  let wallClockBehindMs = 0;

  const wake = (causedAtMs = Number.NEGATIVE_INFINITY): void => {
    const wasBehindMs = wallClockBehindMs;
    wallClockBehindMs = deliveryClock() - clock.now().utcMs;
    // Items that wait may be from a time that is yet to come, and then wait no longer.
    const wasSetBack = wallClockBehindMs - wasBehindMs > mostSlewMs;
    for (const worker of workers) worker.wake(wasSetBack ? Number.NEGATIVE_INFINITY : causedAtMs);
  };

  const onJudged = (outcome: IncidentOutcome): void => {
    onIncidents(outcome);
    if (outcome.outbox.length > 0) wake();
  };

  const workerDeps = { ...deps, log, deliveryClock, onJudged };
  const workers = receivers.map((settings) => createDeliveryWorker(settings, workerDeps));
  const giveUpAfterMs = new Map(receivers.map((each) => [each.receiver.name, each.giveUpAfterMs]));

  /** What one worker does can be work for another. */
  const idle = async (): Promise<void> => {
    for (;;) {
      const work = workers.flatMap((worker) => worker.underWay() ?? []);
      if (work.length === 0) return;
      await Promise.all(work);
    }
  };

  return {
    wake,
    freshTimes: (receiver) => freshTimes(deliveryClock(), giveUpAfterMs.get(receiver)),
    async runOnce() {
      wake();
      await idle();
    },
    start: () => workers.forEach((worker) => worker.start()),
    async stop({ graceMs }) {
      workers.forEach((worker) => worker.stop());
      const settled = new AbortController();
      const ended = idle().finally(() => settled.abort());
      await delay(clock, graceMs, settled.signal);
      workers.forEach((worker) => worker.abort());
      await ended;
      workers.forEach((worker) => worker.close());
    },
  };
}
