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
}

export interface DeliveryLoop {
  /** Looks for new items now. To be called after each commit that wrote some. */
  wake(): void;
  /** Does all that is due now, and resolves when the attempts it led to have ended. */
  runOnce(): Promise<void>;
  start(): void;
  /**
   * Starts no attempt any more. Those in flight may go on for `graceMs` and are then cut short:
   * they stay pending, and the next process repeats them under the same id.
   */
  stop(options: { readonly graceMs: number }): Promise<void>;
}

/**
 * Brings what is in the outbox to the receivers. Each has a lane of its own. The receivers are not
 * closed: who opened them does that.
 */
export function createDeliveryLoop({
  receivers,
  log = silentLog,
  ...deps
}: DeliveryLoopDeps): DeliveryLoop {
  const { clock } = deps;
  const deliveryClock = createDeliveryClock(clock);
  const lanes = receivers.map((settings) => createLane(settings, { ...deps, log, deliveryClock }));
  const allIdle = (): Promise<unknown> => Promise.all(lanes.map((lane) => lane.idle()));

  return {
    wake: () => lanes.forEach((lane) => lane.wake()),
    async runOnce() {
      lanes.forEach((lane) => lane.wake());
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
    },
  };
}
