/**
 * How long to wait before the next attempt: anything from nothing to a ceiling that doubles with
 * every attempt ("full jitter"). Milliseconds; `attempt` counts from 0.
 */
export function fullJitterMs(
  attempt: number,
  { firstMs, longestMs }: { readonly firstMs: number; readonly longestMs: number },
  random: number,
): number {
  return random * Math.min(longestMs, firstMs * 2 ** attempt);
}

/** Retries are at most this share of all requests. */
export const retryShare = 0.1;

/** Keeps retries to a share of all requests, so that they can not pile onto an outage. */
export interface RetryBudget {
  requestSent(): void;
  readonly hasRetry: boolean;
  /** Whether one more retry may be made; takes it from the budget if so. */
  takeRetry(): boolean;
}

/** The most retries that are saved up. */
const mostSavedRetries = 10;

export function createRetryBudget(share: number): RetryBudget {
  let saved = 0;
  return {
    requestSent() {
      saved = Math.min(mostSavedRetries, saved + share);
    },
    get hasRetry() {
      return saved >= 1;
    },
    takeRetry() {
      if (saved < 1) return false;
      saved -= 1;
      return true;
    },
  };
}
