import { delay, type Clock } from "../platform/clock.ts";
import type { Log } from "./observer.ts";

const retryAfterMs = 1_000;

/** Runs a store operation until the store takes it; null: it was stopped before. */
export type Persistently = <T>(
  operation: () => Promise<T>,
) => Promise<{ readonly value: T } | null>;

/**
 * A broken store must not end delivery: what it refuses is tried again after a second. A message
 * that was delivered is so never sent again just because it could not be marked.
 */
export function createPersistently(
  { clock, log }: { readonly clock: Clock; readonly log: Log },
  receiver: string,
  stopped: AbortSignal,
): Persistently {
  return async (operation) => {
    for (let failures = 0; ; failures++) {
      try {
        return { value: await operation() };
      } catch (error) {
        if (failures === 0) {
          const fields = { event: "delivery.store_failed", receiver, error: String(error) };
          log.error(fields, `${receiver}: the store failed, delivery tries again`);
        }
      }
      if (!stopped.aborted) await delay(clock, retryAfterMs, stopped);
      if (stopped.aborted) return null;
    }
  };
}
