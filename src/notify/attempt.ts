import type { Notification } from "../core/notification.ts";
import type { Clock } from "../platform/clock.ts";
import type { AttemptFailure, Receiver, SendResult } from "./receiver.ts";

/** How long a receiver may take to answer. */
export const attemptTimeoutMs = 15_000;

/** `aborted`: it was cut short by us, so it says nothing about the receiver. */
export type AttemptResult = SendResult | { readonly kind: "aborted" };

/** Makes one attempt, and ends it when the receiver takes too long or the signal aborts. */
export function attempt(
  receiver: Receiver,
  notification: Notification,
  clock: Clock,
  signal: AbortSignal,
): Promise<AttemptResult> {
  return inTime((either) => receiver.send(notification, either), clock, signal);
}

/** Ends whatever sends something when it takes too long or the signal aborts. */
export async function inTime(
  send: (signal: AbortSignal) => Promise<SendResult>,
  clock: Clock,
  signal: AbortSignal,
): Promise<AttemptResult> {
  const timeout = new AbortController();
  const cancelTimeout = clock.setTimer(attemptTimeoutMs, () => timeout.abort());
  const either = AbortSignal.any([signal, timeout.signal]);
  const result = await send(either).catch(brokenPromise);
  cancelTimeout();
  if (result.kind === "delivered") return result;
  if (timeout.signal.aborted) return { ...result, reason: "timeout", detail: "no answer" };
  return signal.aborted ? { kind: "aborted" } : result;
}

/** A receiver that rejects has a bug; its error can hold anything, so only its name is used. */
function brokenPromise(error: unknown): AttemptFailure {
  const detail = error instanceof Error ? error.name : "unknown";
  return { kind: "failed", reason: "network", detail, retryAfterMs: null };
}
