import type { DeliveryClock } from "./delivery-clock.ts";
import type { Receiver, SendResult } from "./receiver.ts";

const usuallyInFlight = 4;

/** When a receiver can take how many more messages. */
export interface Pace {
  readonly mostInFlight: number;
  /** No attempt may start before. On the delivery clock. */
  readonly restsUntilMs: number;
  /** An attempt ended. */
  ended(result: SendResult): void;
}

/** A receiver that says it is asked too much says so of every message, not of that one alone. */
export function createPace(receiver: Receiver, deliveryClock: DeliveryClock): Pace {
  const restMs = receiver.restMs ?? 0;
  let restsUntilMs = Number.NEGATIVE_INFINITY;
  return {
    mostInFlight: restMs > 0 ? 1 : usuallyInFlight,
    get restsUntilMs() {
      return restsUntilMs;
    },
    ended(result) {
      const limited = result.kind === "failed" && result.reason === "rate_limited";
      const forMs = Math.max(restMs, (limited ? result.retryAfterMs : null) ?? 0);
      if (forMs > 0) restsUntilMs = Math.max(restsUntilMs, deliveryClock() + forMs);
    },
  };
}
