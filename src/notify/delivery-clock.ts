import type { Clock } from "../platform/clock.ts";

/** Whole milliseconds since 1970 that pass evenly, whatever is done to the wall clock. */
export type DeliveryClock = () => number;

/**
 * Retries are scheduled in UTC as it was when the process started plus the time since then on the
 * monotonic clock: a stepped wall clock neither hastens nor silences them, and what is stored still
 * means something to the next process.
 */
export function createDeliveryClock(clock: Clock): DeliveryClock {
  const start = clock.now();
  return () => Math.round(start.utcMs + clock.now().monotonicMs - start.monotonicMs);
}
