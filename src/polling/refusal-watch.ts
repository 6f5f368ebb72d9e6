import type { FailureReason } from "../core/model.ts";
import type { Clock } from "../platform/clock.ts";

/** A refused key is asked about this often, not at every turn. */
export const refusedRetryMs = 5 * 60_000;

/** How a call ended, as far as it tells whether the key is refused. */
export type CallEnd =
  | { readonly kind: "failed"; readonly reason: FailureReason; readonly status: number | null }
  | { readonly kind: "ok" | "not_sent" | "stopped" };

/** Remembers whether the service refuses a key. */
export interface RefusalWatch {
  /** Whether it was refused so lately that it is not asked again. */
  isWaiting(): boolean;
  /** @returns whether it is refused from now on, and was not before */
  note(end: CallEnd): boolean;
}

export function createRefusalWatch(clock: Clock): RefusalWatch {
  /** Null while the key is not known to be refused. Monotonic milliseconds. */
  let refusedUntilMs: number | null = null;
  return {
    isWaiting: () => refusedUntilMs !== null && clock.now().monotonicMs < refusedUntilMs,
    note(end) {
      if (end.kind === "not_sent" || end.kind === "stopped") return false;
      const before = refusedUntilMs;
      const refused = end.kind === "failed" && end.reason === "auth";
      // Only an answer of the service can take a refusal back: without one it is asked at the next turn.
      const unanswered = end.kind === "failed" && end.status === null;
      const nowMs = clock.now().monotonicMs;
      if (refused) refusedUntilMs = nowMs + refusedRetryMs;
      else refusedUntilMs = unanswered && before !== null ? nowMs : null;
      return refused && before === null;
    },
  };
}
