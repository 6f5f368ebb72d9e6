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
