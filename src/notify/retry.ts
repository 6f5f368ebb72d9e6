import type { Random } from "../lib/random.ts";
import { fullJitterMs } from "../lib/retry.ts";
import type { TimeBounds } from "../store/outbox.ts";
import type { AttemptFailure, AttemptFailureReason, DeliveryFailureReason } from "./receiver.ts";

const longestBackoffMs = 5 * 60 * 1_000;

/** A small random number must not make attempts at a failing receiver follow each other at once. */
const shortestBackoffMs = 100;

export type Decision =
  | { readonly kind: "retry"; readonly nextAttemptAtMs: number }
  | { readonly kind: "dead"; readonly reason: DeliveryFailureReason };

/**
 * What becomes of a notification after a failed attempt. The last attempt is made at the end of `give_up_after`, so that
 * a long `Retry-After` costs attempts but not the notification.
 *
 * @param failures how many attempts have failed, this one included
 * @param times milliseconds of the delivery clock
 */
export function afterFailure(
  { reason, retryAfterMs }: AttemptFailure,
  failures: number,
  { nowMs, giveUpAtMs }: { readonly nowMs: number; readonly giveUpAtMs: number },
  random: Random,
): Decision {
  if (isFinal(reason)) return { kind: "dead", reason };
  if (nowMs >= giveUpAtMs) return { kind: "dead", reason: "expired" };
  const waitMs = Math.max(backoffMs(failures, random), retryAfterMs ?? 0);
  return { kind: "retry", nextAttemptAtMs: Math.round(Math.min(nowMs + waitMs, giveUpAtMs)) };
}

/** On average one second after the first failure, doubling up to the longest. */
export function backoffMs(failures: number, random: Random): number {
  const limits = { firstMs: 2_000, longestMs: longestBackoffMs };
  return Math.max(shortestBackoffMs, fullJitterMs(failures - 1, limits, random()));
}

/** `denied` is retried: the address that the name resolves to may be corrected. */
export function isFinal(reason: AttemptFailureReason): boolean {
  return reason === "rejected" || reason === "gone" || reason === "redirect";
}

/**
 * Limits for the times that an earlier process stored, perhaps by another wall clock. The price is that a longer
 * `Retry-After` is forgotten at a restart.
 */
export function timeBounds(nowMs: number, giveUpAfterMs: number): TimeBounds {
  return {
    nowMs,
    latestNextAttemptAtMs: nowMs + longestBackoffMs,
    earliestGiveUpAtMs: nowMs + Math.min(longestBackoffMs, giveUpAfterMs),
    latestGiveUpAtMs: nowMs + giveUpAfterMs,
  };
}

/** For a receiver that is not configured; when it is configured again, its own setting applies. */
const defaultGiveUpAfterMs = 24 * 60 * 60 * 1_000;

/**
 * When a notification that becomes pending now is due, and until when it is retried. Milliseconds of the delivery clock.
 * It is due at once also by the clock of another process, which may deliver it.
 */
export function freshTimes(nowMs: number, giveUpAfterMs: number = defaultGiveUpAfterMs) {
  return { nextAttemptAtMs: 0, giveUpAtMs: nowMs + giveUpAfterMs };
}
