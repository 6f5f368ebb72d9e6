import { createRetryBudget, fullJitterMs } from "../core/retry.ts";
import type { RetryBudget } from "../core/retry.ts";
import type { FailureReason, Target } from "../core/model.ts";
import { delay } from "../platform/clock.ts";
import type { Clock } from "../platform/clock.ts";
import type { Random } from "../platform/random.ts";
import type { Secret } from "../platform/secret.ts";
import type { CallFailure, CallSuccess, ListingCaller, OpenIntake } from "./listing-caller.ts";
import type { KeyLimits } from "./key-limits.ts";

/** What came of a target's turn. */
export type TurnOutcome =
  | CallSuccess
  | CallFailure
  /** Nothing was sent: the key's limit, or the patience asked for, left no room before the next turn. */
  | { readonly kind: "not_sent"; readonly reason: FailureReason }
  | { readonly kind: "stopped" };

export interface CallListingDeps {
  readonly service: ListingCaller;
  readonly limits: KeyLimits;
  readonly clock: Clock;
  readonly random: Random;
}

/** Retries are at most this share of all requests. */
const retryShare = 0.1;
const retryDelays = { firstMs: 500, longestMs: 10_000 };

/** A retry is given up this long before the target's next turn, so that it does not cost that one. */
const clearOfNextTurnMs = 250;

/** Another attempt may bring what these did not; the others would only fail again. */
const retryable: ReadonlySet<FailureReason> = new Set([
  "timeout",
  "network",
  "rate_limited",
  "server_error",
]);

export interface Turn {
  readonly apiKey: Secret;
  /** When the target's next turn comes. Monotonic milliseconds. */
  readonly deadlineMs: number;
  readonly signal: AbortSignal;
  readonly openIntake: OpenIntake;
}

export type CallListing = (target: Target, turn: Turn) => Promise<TurnOutcome>;

/**
 * Asks for a target's listing, and again after a passing failure, as long as the key's limit, the
 * retry budget and the time until the target's next turn allow.
 */
export function createCallListing(deps: CallListingDeps): CallListing {
  const { service, limits, clock, random } = deps;
  const budget: RetryBudget = createRetryBudget(retryShare);

  const mayResend = (target: Target): boolean => {
    if (!budget.hasRetry || !limits.admitNow(target)) return false;
    budget.requestSent();
    return budget.takeRetry();
  };

  const ask = (target: Target, { apiKey, openIntake }: Turn, signal: AbortSignal) => {
    const { region } = target;
    const resend = (): boolean => mayResend(target);
    return service.listSandboxes({ region, apiKey, signal, mayResend: resend, openIntake });
  };

  /** Gives the failure before it when it has to be given up. */
  const askAgain = async (
    target: Target,
    turn: Turn,
    { failure, endMs }: { readonly failure: CallFailure; readonly endMs: number },
  ) => {
    const giveUp = new AbortController();
    const cancel = clock.setTimer(endMs - clock.now().monotonicMs, () => giveUp.abort());
    try {
      const result = await ask(target, turn, AbortSignal.any([turn.signal, giveUp.signal]));
      return result.kind === "failed" && giveUp.signal.aborted ? failure : result;
    } finally {
      cancel();
    }
  };

  return async (target, turn) => {
    const { deadlineMs, signal } = turn;
    const endMs = deadlineMs - clearOfNextTurnMs;
    let failure: CallFailure | null = null;
    for (let attempt = 0; ; attempt += 1) {
      const admission = await limits.admit(target, failure ? endMs : deadlineMs, signal);
      if (admission === "stopped") return { kind: "stopped" };
      if (admission === "too_late") return failure ?? { kind: "not_sent", reason: "rate_limited" };
      const startedMs = clock.now().monotonicMs;
      budget.requestSent();
      const result: CallSuccess | CallFailure = failure
        ? await askAgain(target, turn, { failure, endMs })
        : await ask(target, turn, signal);
      if (signal.aborted) return { kind: "stopped" };
      if (result.kind === "ok" || result === failure) return result;
      failure = result;
      const endedMs = clock.now().monotonicMs;
      if (result.retryAfterMs !== null) limits.pause(target, endedMs + result.retryAfterMs);
      if (!retryable.has(result.reason)) return result;
      const waitMs = Math.max(
        result.retryAfterMs ?? 0,
        fullJitterMs(attempt, retryDelays, random()),
      );
      // A retry as slow as this attempt was must still end in time.
      if (endedMs + waitMs + (endedMs - startedMs) >= endMs) return result;
      if (!budget.takeRetry()) return result;
      await delay(clock, waitMs, signal);
    }
  };
}
