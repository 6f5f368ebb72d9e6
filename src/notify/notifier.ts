import type { IncidentOutcome } from "../alerts/incident-engine.ts";
import { delay } from "../lib/clock.ts";
import { createDeliveryWorker, type DeliveryReceiver, type WorkerDeps } from "./pipeline.ts";
import { freshTimes } from "./retry.ts";

interface NotifierDeps extends Omit<WorkerDeps, "deliveryClock" | "onJudged"> {
  readonly receivers: readonly DeliveryReceiver[];
  /** What became of incidents of receivers, after it was committed. */
  readonly onIncidents?: (outcome: IncidentOutcome) => void;
}

/** A wall clock that falls behind by more from one wake to the next was set back. */
const mostSlewMs = 1_000;

export type Notifier = ReturnType<typeof createNotifier>;

/** Brings what is in the outbox to the receivers, with a worker for each. The receivers are not closed here. */
export function createNotifier({ receivers, onIncidents, ...deps }: NotifierDeps) {
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
    onIncidents?.(outcome);
    if (outcome.outbox.length > 0) wake();
  };

  const workerDeps = { ...deps, deliveryClock, onJudged };
  const workers = receivers.map((settings) => createDeliveryWorker(settings, workerDeps));
  const giveUpAfterMs = new Map(receivers.map((each) => [each.receiver.name, each.giveUpAfterMs]));

  /** A worker that has run can leave work for another one. */
  const idle = async (): Promise<void> => {
    for (;;) {
      const work = workers.flatMap((worker) => worker.underWay() ?? []);
      if (work.length === 0) return;
      await Promise.all(work);
    }
  };

  return {
    /**
     * Looks for new items once they can be due. To be called after each commit that wrote some.
     *
     * @param causedAtMs none of them was caused before. UTC milliseconds; default: they are read at once
     */
    wake,

    freshTimes: (receiver: string) => freshTimes(deliveryClock(), giveUpAfterMs.get(receiver)),

    /** Does all that is due now, and resolves when the attempts have ended. */
    async runOnce(): Promise<void> {
      wake();
      await idle();
    },

    start(): void {
      for (const worker of workers) worker.start();
    },

    /**
     * Begins no further attempt. Those in flight may go on for `graceMs` and are then aborted: their notifications stay
     * pending, and the next process sends them again under the same id.
     */
    async stop({ graceMs }: { readonly graceMs: number }): Promise<void> {
      for (const worker of workers) worker.stop();
      const settled = new AbortController();
      const ended = idle().finally(() => settled.abort());
      await delay(clock, graceMs, settled.signal);
      for (const worker of workers) worker.abort();
      await ended;
      for (const worker of workers) worker.close();
    },
  };
}
