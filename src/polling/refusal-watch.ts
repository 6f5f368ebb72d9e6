import type { FailureReason } from "../core/model.ts";
import type { Clock } from "../platform/clock.ts";

/** A key that is refused again and again is asked about this often, or at every poll where those are rarer. */
export const longestBackOffMs = 5 * 60_000;

/** How a call ended, as far as it tells whether the key is refused. */
export type CallEnd =
  | { readonly kind: "failed"; readonly reason: FailureReason; readonly status: number | null }
  | { readonly kind: "ok" }
  | { readonly kind: "not_sent" | "stopped" | "backing_off" };

/** A poll or a run of a probe. Monotonic milliseconds. */
export interface Scheduled {
  readonly startedMs: number;
  /** When the next one comes. */
  readonly deadlineMs: number;
}

/**
 * Remembers whether the service refuses a key. After the first refusal it is asked again at the next
 * scheduled poll; each further one in a row doubles the distance, up to five minutes.
 */
export interface RefusalWatch {
  /** Whether no request is to be sent yet. */
  isBackingOff(): boolean;
  /** @returns whether it is refused from now on, and was not before */
  note(end: CallEnd, poll: Scheduled): boolean;
}

export function createRefusalWatch(clock: Clock): RefusalWatch {
  let refusalsInARow = 0;
  /** Monotonic milliseconds. */
  let askAgainAtMs = Number.NEGATIVE_INFINITY;
  return {
    isBackingOff: () => clock.now().monotonicMs < askAgainAtMs,
    note(end, { startedMs, deadlineMs }) {
      if (end.kind !== "failed" && end.kind !== "ok") return false;
      if (end.kind === "failed" && end.reason === "auth") {
        const intervalMs = deadlineMs - startedMs;
        const waitMs = Math.min(longestBackOffMs, intervalMs * 2 ** refusalsInARow);
        // Polls do not come at the very same distance: that of this moment must not be missed.
        askAgainAtMs = startedMs + waitMs - intervalMs / 2;
        refusalsInARow += 1;
        return refusalsInARow === 1;
      }
      askAgainAtMs = Number.NEGATIVE_INFINITY;
      // Only an answer of the service can take a refusal back.
      if (end.kind === "ok" || end.status !== null) refusalsInARow = 0;
      return false;
    },
  };
}
