import { delay, type Clock } from "../lib/clock.ts";
import type { Log } from "./receiver.ts";

const retryAfterMs = 1_000;

/**
 * Repeats a store operation each second until it succeeds; null: delivery was stopped before that.
 *
 * @param onRefused called when the operation fails for the first time
 */
export type UntilStored = <T>(
  operation: () => Promise<T>,
  onRefused?: () => void,
) => Promise<{ readonly value: T } | null>;

/**
 * A failing store must not end delivery, and a notification that was delivered must not be sent again because that could
 * not be stored.
 */
export function createStoreRetries(
  receiver: string,
  { clock, log }: { readonly clock: Clock; readonly log: Log },
  stopped: AbortSignal,
): UntilStored {
  /** How many operations fail at present. Only the first is logged. */
  let failing = 0;

  const retry = async <T>(operation: () => Promise<T>): Promise<{ readonly value: T } | null> => {
    for (;;) {
      await delay(clock, retryAfterMs, stopped);
      if (stopped.aborted) return null;
      try {
        return { value: await operation() };
      } catch {
        // Logged when it failed first.
      }
    }
  };

  return async (operation, onRefused) => {
    try {
      return { value: await operation() };
    } catch (error) {
      const fields = { event: "delivery.store_failed", receiver, error: String(error) };
      if (failing === 0) log.error(fields, `${receiver}: the store failed, delivery tries again`);
    }
    failing += 1;
    onRefused?.();
    return retry(operation).finally(() => (failing -= 1));
  };
}
