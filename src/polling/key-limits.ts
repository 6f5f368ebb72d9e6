import { targetName } from "../core/model.ts";
import type { Target } from "../core/model.ts";
import { createTokenBucket } from "../core/rate-limit.ts";
import type { RateLimit, TokenBucket } from "../core/rate-limit.ts";
import { delay } from "../platform/clock.ts";
import type { Clock } from "../platform/clock.ts";

export type Admission = "granted" | "too_late" | "stopped";

/** Every call that is made with a key asks here first: polls, retries, probes and look-ups. */
export interface KeyLimits {
  /**
   * Waits for the key's next token, first come, first served. Too late: there is none before the
   * deadline (monotonic milliseconds), and none was taken.
   */
  admit(target: Target, deadlineMs: number, signal: AbortSignal): Promise<Admission>;
  /** Takes a token if there is one this very moment. */
  admitNow(target: Target): boolean;
  /** When the next call may leave, monotonic milliseconds; in the past when it may leave now. */
  nextFreeMs(target: Target): number;
  /** The service asked for patience with this key in this region: nothing is sent until then. */
  pause(target: Target, untilMs: number): void;
}

export function createKeyLimits(clock: Clock, limit: RateLimit): KeyLimits {
  const buckets = new Map<string, TokenBucket>();
  const pausedUntilMs = new Map<string, number>();

  const bucketOf = (key: string): TokenBucket => {
    let bucket = buckets.get(key);
    if (!bucket) buckets.set(key, (bucket = createTokenBucket(limit)));
    return bucket;
  };

  const resumptionOf = (name: string): number =>
    pausedUntilMs.get(name) ?? Number.NEGATIVE_INFINITY;

  const nextFreeMs = (target: Target): number =>
    Math.max(resumptionOf(targetName(target)), bucketOf(target.key).nextFreeMs);

  return {
    nextFreeMs,
    async admit(target, deadlineMs, signal) {
      const name = targetName(target);
      const bucket = bucketOf(target.key);
      while (!signal.aborted) {
        const nowMs = clock.now().monotonicMs;
        const resumesMs = resumptionOf(name);
        if (Math.max(resumesMs, bucket.nextFreeMs) > deadlineMs) return "too_late";
        // A token taken for the far end of a pause would be missing to the key's other regions.
        const paused = resumesMs > nowMs;
        const readyMs = paused ? resumesMs : bucket.take(nowMs);
        if (readyMs > nowMs) await delay(clock, readyMs - nowMs, signal);
        // A pause that began meanwhile counts too: the token lapses, as it is for that moment only.
        if (!paused && resumptionOf(name) <= readyMs && !signal.aborted) return "granted";
      }
      return "stopped";
    },
    admitNow(target) {
      const nowMs = clock.now().monotonicMs;
      if (nextFreeMs(target) > nowMs) return false;
      bucketOf(target.key).take(nowMs);
      return true;
    },
    pause(target, untilMs) {
      const name = targetName(target);
      pausedUntilMs.set(name, Math.max(untilMs, pausedUntilMs.get(name) ?? untilMs));
    },
  };
}
