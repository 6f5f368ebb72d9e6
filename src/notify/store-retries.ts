import { delay, type Clock } from "../platform/clock.ts";
import type { Log } from "./observer.ts";

const retryAfterMs = 1_000;

/**
 * Runs a store operation until the store takes it; null: it was stopped before.
 *
 * @param onRefused called when the store refused it the first time
 */
export type Persistently = <T>(
  operation: () => Promise<T>,
  onRefused?: () => void,
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
  /** How many operations are refused at the moment. It is said of the first. */
  let refused = 0;

  const noteRefusal = (error: unknown): void => {
    refused += 1;
    if (refused > 1) return;
    const fields = { event: "delivery.store_failed", receiver, error: String(error) };
    log.error(fields, `${receiver}: the store failed, delivery tries again`);
  };

  return async (operation, onRefused = () => {}) => {
    let isRefused = false;
    try {
      for (;;) {
        try {
          return { value: await operation() };
        } catch (error) {
          if (!isRefused) {
            isRefused = true;
            noteRefusal(error);
            onRefused();
          }
        }
        if (!stopped.aborted) await delay(clock, retryAfterMs, stopped);
        if (stopped.aborted) return null;
      }
    } finally {
      if (isRefused) refused -= 1;
    }
  };
}
