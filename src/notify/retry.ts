import { fullJitterMs } from "../core/retry.ts";
import type { Random } from "../platform/random.ts";
import type { TimeBounds } from "./outbox.ts";
import type { AttemptFailure, AttemptFailureReason, DeliveryFailureReason } from "./receiver.ts";

const longestBackoffMs = 5 * 60 * 1_000;

/** Keeps an unlucky draw from hammering a receiver that is in trouble. */
const shortestBackoffMs = 100;

export type Decision =
  | { readonly kind: "retry"; readonly nextAttemptAtMs: number }
  | { readonly kind: "dead"; readonly reason: DeliveryFailureReason };

/**
 * What becomes of a notification after a failed attempt. The last attempt is made when the time to
 * give up has come, so that a receiver's long `Retry-After` costs attempts but not the message.
 *
 * @param failures how many attempts failed so far, this one included
 * @param nowMs like `giveUpAtMs`, milliseconds of the delivery clock
 */
export function decide(
  failure: AttemptFailure,
  failures: number,
  { nowMs, giveUpAtMs }: { readonly nowMs: number; readonly giveUpAtMs: number },
  random: Random,
): Decision {
  if (isFinal(failure.reason)) return { kind: "dead", reason: failure.reason };
  if (nowMs >= giveUpAtMs) return { kind: "dead", reason: "expired" };
  const waitMs = Math.max(backoffMs(failures, random), failure.retryAfterMs ?? 0);
  return { kind: "retry", nextAttemptAtMs: Math.round(Math.min(nowMs + waitMs, giveUpAtMs)) };
}

/** One second in the mean after the first failure, doubling up to the longest. */
export function backoffMs(failures: number, random: Random): number {
  const limits = { firstMs: 2_000, longestMs: longestBackoffMs };
  return Math.max(shortestBackoffMs, fullJitterMs(failures - 1, limits, random()));
}

/**
 * What an earlier process stored, perhaps by another wall clock, must not wait or end for that.
 * That a receiver's longer `Retry-After` is forgotten at a restart is the price.
 */
export function timeBounds(nowMs: number, giveUpAfterMs: number): TimeBounds {
  return {
    nowMs,
    latestNextAttemptAtMs: nowMs + longestBackoffMs,
    earliestGiveUpAtMs: nowMs + Math.min(longestBackoffMs, giveUpAfterMs),
    latestGiveUpAtMs: nowMs + giveUpAfterMs,
  };
}

/** Whether it makes no sense to try again. */
export function isFinal(reason: AttemptFailureReason): boolean {
  switch (reason) {
    case "timeout":
    case "network":
    case "rate_limited":
    case "server_error":
    // What a name resolves to may be mended, or was wrong for a moment only.
    case "denied":
      return false;
    case "rejected":
    case "gone":
    case "redirect":
      return true;
  }
}
