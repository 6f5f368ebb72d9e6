import type { FailureReason } from "../fleet/model.ts";

/** A key that is refused again and again is tried this often, or at every poll where polls are rarer. */
export const longestBackOffMs = 5 * 60_000;

/** What is remembered of how the service refuses a key (401, 403). */
export interface Refusal {
  readonly inARow: number;
  /** Nothing is sent before. Monotonic milliseconds. */
  readonly backOffUntilMs: number;
}

export const notRefused: Refusal = { inARow: 0, backOffUntilMs: Number.NEGATIVE_INFINITY };

/** How a call ended, as far as it shows whether the key is refused. */
export type CallEnd =
  | { readonly kind: "failed"; readonly reason: FailureReason; readonly status: number | null }
  | { readonly kind: "ok" | "not_sent" | "stopped" | "backing_off" };

/**
 * After the first refusal the key is tried again at the next scheduled poll; each further one in a row doubles
 * the distance, up to five minutes. Times are monotonic milliseconds.
 */
export function refusalAfter(
  before: Refusal,
  end: CallEnd,
  { startedMs, deadlineMs }: { readonly startedMs: number; readonly deadlineMs: number },
): Refusal {
  if (end.kind !== "failed") return end.kind === "ok" ? notRefused : before;
  if (end.reason === "auth") {
    const intervalMs = deadlineMs - startedMs;
    const waitMs = Math.min(longestBackOffMs, intervalMs * 2 ** before.inARow);
    // Polls are not exactly an interval apart: the one due at about that time must not be skipped.
    return { inARow: before.inARow + 1, backOffUntilMs: startedMs + waitMs - intervalMs / 2 };
  }
  // Only an answer of the service takes a refusal back.
  return end.status === null ? { ...before, backOffUntilMs: -Infinity } : notRefused;
}
