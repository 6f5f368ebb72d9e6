import { delay } from "../lib/clock.ts";
import { DeliveryWorker, type DeliveryReceiver, type WorkerDeps } from "./pipeline.ts";
import { freshTimes } from "./retry.ts";

interface NotifierDeps extends Omit<WorkerDeps, "deliveryClock"> {
  /** Of each receiver by its name. */
  readonly giveUpAfterMs: ReadonlyMap<string, number>;
}

/** A wall clock that falls behind by more from one wake to the next was set back. */
const mostSlewMs = 1_000;

export type Notifier = ReturnType<typeof createNotifier>;

/** Brings what is in the outbox to the receivers, with a worker for each. The receivers are not closed here. */
export function createNotifier(
  { giveUpAfterMs, ...deps }: NotifierDeps,
  receivers: readonly DeliveryReceiver[],
) {
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
    for (const worker of workers.values())
      worker.wake(wasSetBack ? Number.NEGATIVE_INFINITY : causedAtMs);
  };

  const workerDeps = { ...deps, deliveryClock };
  const workers = new Map(
    receivers.map((settings) => [settings.receiver.name, new DeliveryWorker(settings, workerDeps)]),
  );

  /** A worker that has run can leave work for another one. */
  const idle = async (some: () => Iterable<DeliveryWorker>): Promise<void> => {
    for (;;) {
      const work = Array.from(some(), (worker) => worker.underWay() ?? []).flat();
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
      await idle(() => workers.values());
    },

    start(): void {
      for (const worker of workers.values()) worker.start();
    },

    /** Begins no further attempt. */
    halt(): void {
      for (const worker of workers.values()) worker.stop();
    },
    /**
     * Begins no further attempt. Those in flight may go on for `graceMs` and are then aborted: their notifications stay
     * pending, and the next process sends them again under the same id.
     */
    async stop({ graceMs }: { readonly graceMs: number }): Promise<void> {
      this.halt();
      const settled = new AbortController();
      const ended = idle(() => workers.values()).finally(() => settled.abort());
      if (graceMs > 0) await delay(clock, graceMs, settled.signal);
      for (const worker of workers.values()) worker.abort();
      await ended;
      for (const worker of workers.values()) worker.close();
    },
  };
}
