import { targetName } from "../core/model.ts";
import { delay } from "../platform/clock.ts";
import type { Clock } from "../platform/clock.ts";
import type { KeyLimits } from "../polling/key-limits.ts";

/**
 * The limits of the keys, before which the probes of a target stand in a queue of their own: only the
 * first of it waits for a token. However many probes a target has, a poll waits for one of them at most.
 */
export function admitOneByOne(limits: KeyLimits, clock: Clock): KeyLimits {
  /** By the target: resolves when all that stand in its queue have left it. */
  const queues = new Map<string, Promise<unknown>>();

  const waitFor = async (
    ahead: Promise<unknown> | undefined,
    deadlineMs: number,
    signal: AbortSignal,
  ): Promise<void> => {
    if (!ahead) return;
    const over = new AbortController();
    const patience = deadlineMs - clock.now().monotonicMs;
    const expiry = delay(clock, patience, AbortSignal.any([signal, over.signal]));
    await Promise.race([ahead, expiry]);
    over.abort();
  };

  return {
    ...limits,
    async admit(target, deadlineMs, signal) {
      const name = targetName(target);
      const ahead = queues.get(name);
      const left = Promise.withResolvers<void>();
      // Who gives up before its turn lets nobody pass those ahead of it.
      const queue = Promise.all([ahead, left.promise]);
      queues.set(name, queue);
      void queue.then(() => queues.get(name) === queue && queues.delete(name));
      try {
        await waitFor(ahead, deadlineMs, signal);
        if (signal.aborted) return { kind: "stopped" };
        if (clock.now().monotonicMs > deadlineMs) return { kind: "too_late" };
        return await limits.admit(target, deadlineMs, signal);
      } finally {
        left.resolve();
      }
    },
  };
}
