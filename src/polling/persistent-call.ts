import { createRetryBudget, fullJitterMs, retryShare } from "../core/retry.ts";
import type { RetryBudget } from "../core/retry.ts";
import type { FailureReason, Target } from "../core/model.ts";
import { delay } from "../platform/clock.ts";
import type { Clock } from "../platform/clock.ts";
import type { Random } from "../platform/random.ts";
import { admitCalls } from "./admitted-call.ts";
import type { AdmittedCall } from "./admitted-call.ts";
import type { CallFailure } from "./listing-caller.ts";
import type { KeyLimits } from "./key-limits.ts";

/** Nothing came of a turn, because nothing was sent or nobody waits for it any more. */
export type Unasked =
  /** Nothing was sent: the key's limit, or the patience asked for, left no room before the next turn. */
  { readonly kind: "not_sent"; readonly reason: FailureReason } | { readonly kind: "stopped" };

interface Answered {
  readonly kind: "ok";
}

export interface PersistentCallDeps {
  readonly limits: KeyLimits;
  readonly clock: Clock;
  readonly random: Random;
  /** Left out: one of its own. */
  readonly budget?: RetryBudget;
}

export interface CallTurn {
  /** When the next turn comes. Monotonic milliseconds. */
  readonly deadlineMs: number;
  readonly signal: AbortSignal;
}

/** One attempt: ends at the signal, tells of a request that is sent, and asks before it is sent once more. */
export type Attempt<Success> = (
  attempt: { readonly signal: AbortSignal } & Pick<AdmittedCall, "onSent" | "mayResend">,
) => Promise<Success | CallFailure>;

/**
 * Calls the service with a target's key, and again after a passing failure, as long as the key's
 * limit, the retry budget and the time until the next turn allow.
 */
export type PersistentCall = <Success extends Answered>(
  target: Target,
  turn: CallTurn,
  attempt: Attempt<Success>,
) => Promise<Success | CallFailure | Unasked>;

const retryDelays = { firstMs: 500, longestMs: 10_000 };

/** A retry is given up this long before the next turn, so that it does not cost that one. */
const clearOfNextTurnMs = 250;

/** Another attempt may bring what these did not; the others would only fail again. */
const retryable: ReadonlySet<FailureReason> = new Set([
  "timeout",
  "network",
  "rate_limited",
  "server_error",
]);

export function createPersistentCall({
  limits,
  clock,
  random,
  budget = createRetryBudget(retryShare),
}: PersistentCallDeps): PersistentCall {
  const admitCall = admitCalls(limits, budget);

  /** Gives the failure before it when it has to be given up. */
  const attemptAgain = async <Success extends Answered>(
    ask: (signal: AbortSignal) => Promise<Success | CallFailure>,
    { signal, endMs }: { readonly signal: AbortSignal; readonly endMs: number },
    failure: CallFailure,
  ): Promise<Success | CallFailure> => {
    const giveUp = new AbortController();
    const cancel = clock.setTimer(endMs - clock.now().monotonicMs, () => giveUp.abort());
    try {
      const result = await ask(AbortSignal.any([signal, giveUp.signal]));
      return isFailure(result) && giveUp.signal.aborted ? failure : result;
    } finally {
      cancel();
    }
  };

  return async <Success extends Answered>(
    target: Target,
    { deadlineMs, signal }: CallTurn,
    attempt: Attempt<Success>,
  ) => {
    const endMs = deadlineMs - clearOfNextTurnMs;
    let failure: CallFailure | null = null;
    for (let retries = 0; ; retries += 1) {
      const admission = await limits.admit(target, failure ? endMs : deadlineMs, signal);
      if (admission.kind === "stopped") return { kind: "stopped" };
      if (admission.kind === "too_late")
        return failure ?? { kind: "not_sent", reason: "rate_limited" };
      const startedMs = clock.now().monotonicMs;
      budget.requestSent();
      const { onSent, mayResend, ended } = admitCall(target, admission);
      const ask = (until: AbortSignal) =>
        attempt({ signal: until, onSent, mayResend }).finally(ended);
      const result: Success | CallFailure = failure
        ? await attemptAgain(ask, { signal, endMs }, failure)
        : await ask(signal);
      if (signal.aborted) return { kind: "stopped" };
      if (!isFailure(result) || result === failure) return result;
      failure = result;
      const endedMs = clock.now().monotonicMs;
      if (result.retryAfterMs !== null) limits.pause(target, endedMs + result.retryAfterMs);
      if (!retryable.has(result.reason)) return result;
      const waitMs = Math.max(
        result.retryAfterMs ?? 0,
        fullJitterMs(retries, retryDelays, random()),
      );
      // A retry as slow as this attempt was must still end in time.
      if (endedMs + waitMs + (endedMs - startedMs) >= endMs) return result;
      if (!budget.takeRetry()) return result;
      await delay(clock, waitMs, signal);
    }
  };
}

function isFailure(result: Answered | CallFailure): result is CallFailure {
  return result.kind === "failed";
}
