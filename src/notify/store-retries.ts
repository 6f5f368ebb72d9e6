import { delay, type Clock } from "../lib/clock.ts";
import type { Log } from "./receiver.ts";

const retryAfterMs = 1_000;

/**
 * Repeats a store operation each second until it succeeds: a failing store must not end delivery, and a notification that
 * was delivered must not be sent again because that could not be stored.
 */
export function createStoreRetries(
  receiver: string,
  { clock, log }: { readonly clock: Clock; readonly log: Log },
  stopped: AbortSignal,
) {
  /** How many operations fail at present. Only the first is logged. */
  let failing = 0;

  /**
   * @param onRefused called when the operation fails for the first time
   * @returns null: delivery was stopped before it succeeded
   */
  return async <T>(
    operation: () => Promise<T>,
    onRefused?: () => void,
  ): Promise<{ readonly value: T } | null> => {
    let isFirst = true;
    try {
      for (;;) {
        try {
          return { value: await operation() };
        } catch (error) {
          if (isFirst) {
            const fields = { event: "delivery.store_failed", receiver, error: String(error) };
            if (failing++ === 0)
              log.error(fields, `${receiver}: the store failed; the delivery is retried`);
            isFirst = false;
            onRefused?.();
          }
        }
        await delay(clock, retryAfterMs, stopped);
        if (stopped.aborted) return null;
      }
    } finally {
      if (!isFirst) failing -= 1;
    }
  };
}
