import type { Target } from "../core/model.ts";
import type { RetryBudget } from "../core/retry.ts";
import type { KeyLimits } from "./key-limits.ts";

/**
 * Whether a request may be sent once more, at once, because its kept connection turned out dead. It is
 * one more request within the key's limit, and a retry within the budget.
 */
export function resendWithin(
  budget: RetryBudget,
  limits: Pick<KeyLimits, "admitNow">,
): (target: Target) => boolean {
  return (target) => {
    if (!budget.hasRetry || !limits.admitNow(target)) return false;
    budget.requestSent();
    return budget.takeRetry();
  };
}
