import type { FailureReason, Target } from "../fleet/model.ts";
import { fullJitterMs } from "../lib/retry.ts";
import type { RetryBudget } from "../lib/retry.ts";
import { delay } from "../lib/clock.ts";
import type { Clock } from "../lib/clock.ts";
import type { Random } from "../lib/random.ts";
import type { Call } from "../service/client.ts";
import { isStopped, type CallFailure } from "../service/failure.ts";
import { mayResend } from "./key-limits.ts";
import type { Admission, KeyLimits } from "./key-limits.ts";

export interface CallDeps {
  readonly limits: KeyLimits;
  readonly clock: Clock;
  readonly random: Random;
  readonly budget: RetryBudget;
}

export interface Deadline {
  /** When the next poll or run comes. Monotonic milliseconds. */
  readonly deadlineMs: number;
  readonly signal: AbortSignal;
  readonly order?: "one_by_one" | undefined;
}

/** The key's limit or `Retry-After` left no request before the deadline. */
export interface NotSent {
  readonly kind: "not_sent";
  readonly reason: FailureReason;
}

/** What one attempt is made with. */
export type AttemptCall = Required<Pick<Call, "signal" | "onSent" | "mayResend">>;

const retryDelays = { firstMs: 500, longestMs: 10_000 };

/** A retry is cut off this long before the deadline, so that it does not delay the next poll. */
const clearOfDeadlineMs = 250;

/** Another attempt may succeed after these; after the others it would only fail again. */
const retryable: ReadonlySet<FailureReason> = new Set([
  "timeout",
  "network",
  "rate_limited",
  "server_error",
]);

/**
 * Calls the service with a target's key, and again after a temporary failure, as long as the key's limit, the
 * retry budget and the time until the deadline allow.
 */
export async function callWithRetries<Success extends { readonly kind: "ok" }>(
  { limits, clock, random, budget }: CallDeps,
  target: Target,
  { deadlineMs, signal, order }: Deadline,
  attempt: (call: AttemptCall) => Promise<Success | CallFailure>,
): Promise<Success | CallFailure | NotSent | { readonly kind: "stopped" }> {
  const endMs = deadlineMs - clearOfDeadlineMs;
  let failure: CallFailure | null = null;
  for (let retries = 0; ; retries += 1) {
    const granted: Admission = failure
      ? await limits.admitRetry(target, endMs, signal, order)
      : await limits.admit(target, deadlineMs, signal, order);
    if (granted.kind === "stopped") return granted;
    if (granted.kind === "too_late") return failure ?? { kind: "not_sent", reason: "rate_limited" };
    const startedMs = clock.now().monotonicMs;
    budget.requestSent();
    // A retry that hangs is cut off; the first attempt has the client's own time-out.
    const cutOff = new AbortController();
    const cancelTimer = failure && clock.setTimer(endMs - startedMs, () => cutOff.abort());
    const result: Success | CallFailure = await attempt({
      signal: failure ? AbortSignal.any([signal, cutOff.signal]) : signal,
      onSent: granted.sent,
      mayResend: () => mayResend(granted, budget),
    }).finally(() => {
      cancelTimer?.();
      granted.ended();
    });
    if (signal.aborted) return { kind: "stopped" };
    if (!isFailure(result)) return result;
    // A retry that was cut off is stopped, too.
    if (!cutOff.signal.aborted && isStopped(result)) return { kind: "stopped" };
    if (failure && cutOff.signal.aborted) return failure;
    failure = result;
    const endedMs = clock.now().monotonicMs;
    if (result.retryAfterMs !== null) limits.pause(target, endedMs + result.retryAfterMs);
    if (!retryable.has(result.reason)) return result;
    const jitterMs = fullJitterMs(retries, retryDelays, random());
    const waitMs = Math.max(result.retryAfterMs ?? 0, jitterMs);
    // A retry that takes as long as this attempt must still end in time.
    if (endedMs + waitMs + (endedMs - startedMs) >= endMs || !budget.takeRetry()) return result;
    await delay(clock, waitMs, signal);
  }
}

function isFailure(result: { readonly kind: "ok" } | CallFailure): result is CallFailure {
  return result.kind === "failed";
}
