import type { Instant } from "../fleet/model.ts";

/** The only source of time. Tests replace it with one that they advance. */
export interface Clock {
  now(): Instant;
  /** Calls back once, after a delay on the monotonic clock. The returned function cancels. */
  setTimer(delayMs: number, callback: () => void): () => void;
}

/** When each part of a loop last began or ended a run, by the names of both: "polls us/research". The watchdog takes it. */
export type LastRuns = Map<string, Instant>;

/** Node.js fires a timer with a longer delay at once, so a longer wait is cut into parts. */
const longestTimerMs = 2 ** 31 - 1;

export const systemClock: Clock = {
  now: () => ({ utcMs: Date.now(), monotonicMs: performance.now() }),
  setTimer(delayMs, callback) {
    let remainingMs = Math.max(0, delayMs);
    let timer: NodeJS.Timeout;
    const arm = (): void => {
      const stepMs = Math.min(remainingMs, longestTimerMs);
      remainingMs -= stepMs;
      timer = setTimeout(() => (remainingMs > 0 ? arm() : callback()), stepMs);
    };
    arm();
    return () => clearTimeout(timer);
  },
};

/** Resolves after the delay, or at once when the signal aborts: the caller looks which it was. */
export function delay(clock: Clock, delayMs: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal?.aborted) return resolve();
    const finish = (): void => {
      cancel();
      signal?.removeEventListener("abort", finish);
      resolve();
    };
    const cancel = clock.setTimer(delayMs, finish);
    signal?.addEventListener("abort", finish, { once: true });
  });
}
