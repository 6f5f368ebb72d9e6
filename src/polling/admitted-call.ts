import type { Target } from "../core/model.ts";
import type { RetryBudget } from "../core/retry.ts";
import type { Granted, KeyLimits } from "./key-limits.ts";

/** What is asked and told while a call is made that was let through. */
export interface AdmittedCall {
  /** Whether the request may be sent once more, at once, because its kept connection turned out dead. */
  readonly mayResend: () => boolean;
  /** The request is being sent. */
  readonly onSent: () => void;
  /** Must be called once the call is over, however it ended. */
  readonly ended: () => void;
}

/**
 * To send a request once more is one more request within the key's limit, and a retry within the
 * budget; without a budget it is not done.
 */
export function admitCalls(
  limits: Pick<KeyLimits, "admitNow">,
  budget: RetryBudget | undefined,
): (target: Target, granted: Granted) => AdmittedCall {
  return (target, granted) => {
    let current = granted;
    return {
      mayResend() {
        const again = budget?.hasRetry ? limits.admitNow(target) : null;
        if (!budget || !again) return false;
        current.ended();
        current = again;
        budget.requestSent();
        return budget.takeRetry();
      },
      onSent: () => current.sent(),
      ended: () => current.ended(),
    };
  };
}
