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

/** A longer wait is cut to a day. */
const longestMs = 24 * 60 * 60 * 1000;

const weekday = /^(mon|tue|wed|thu|fri|sat|sun)/i;
const zone = /(gmt|utc|[+-]\d{4})$/i;

/**
 * How long `Retry-After` asks to wait, in milliseconds from 0 to a day: seconds or an HTTP date (RFC
 * 9110, section 10.2.3). Null when there is none or it says nothing.
 *
 * @param nowUtcMs what a date is counted from
 */
export function parseRetryAfter(value: string | undefined, nowUtcMs: number): number | null {
  const text = value?.trim();
  if (!text) return null;
  const waitMs = /^[+-]?\d+(\.\d+)?$/.test(text) ? Number(text) * 1000 : untilDate(text, nowUtcMs);
  if (Number.isNaN(waitMs)) return null;
  return Math.min(Math.max(0, Math.ceil(waitMs)), longestMs);
}

/** `Date.parse` finds a date in nearly anything, and reads one without a zone as local time. */
function untilDate(text: string, nowUtcMs: number): number {
  if (!weekday.test(text)) return Number.NaN;
  return Date.parse(zone.test(text) ? text : `${text} GMT`) - nowUtcMs;
}
