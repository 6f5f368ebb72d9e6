import type { DeliveryDeps } from "./delivery-deps.ts";
import type { PendingNotification } from "./outbox.ts";
import type { AttemptFailure, SendResult } from "./receiver.ts";
import { decide, type Decision } from "./retry.ts";

export type Outcome =
  | { readonly kind: "delivered"; readonly atMs: number }
  | {
      readonly kind: "failed";
      readonly atMs: number;
      readonly failure: AttemptFailure;
      readonly decision: Decision;
    };

/** Turns the result of an attempt into what is stored, counted and logged about it. */
export interface Recorder {
  decide(pending: PendingNotification, result: SendResult): Outcome;
  store(pending: PendingNotification, outcome: Outcome): Promise<void>;
  /** Only for an outcome that was stored. */
  tell(pending: PendingNotification, outcome: Outcome): void;
}

export function createRecorder(
  receiver: string,
  { outbox, clock, deliveryClock, random, log, observe }: DeliveryDeps,
): Recorder {
  /** A receiver that is down is logged once, not at every attempt. */
  let failing = false;

  const tellDelivered = ({ notification, attempts }: PendingNotification, atMs: number): void => {
    failing = false;
    const delaySeconds = Math.max(0, atMs - notification.causedAtMs) / 1_000;
    observe.delivered(receiver, delaySeconds);
    const fields = { receiver, notification_id: notification.id, attempts: attempts + 1 };
    log.info(
      { event: "notification.delivered", ...fields, delay_seconds: delaySeconds },
      `${receiver}: ${notification.summary}`,
    );
  };

  const tellFailed = (
    { notification, attempts }: PendingNotification,
    { reason, detail }: AttemptFailure,
    decision: Decision,
  ): void => {
    observe.attemptFailed(receiver, reason);
    const fields = { receiver, notification_id: notification.id, attempts: attempts + 1, detail };
    if (decision.kind === "dead") {
      observe.dead(receiver, decision.reason);
      log.error(
        { event: "notification.dead", ...fields, reason: decision.reason },
        `${receiver} was not told: ${notification.summary}`,
      );
    } else if (!failing) {
      failing = true;
      log.warn(
        { event: "notification.retry", ...fields, reason },
        `${receiver} takes no notifications, they are tried again`,
      );
    }
  };

  return {
    decide(pending, result) {
      const atMs = clock.now().utcMs;
      if (result.kind === "delivered") return { kind: "delivered", atMs };
      const times = { nowMs: deliveryClock(), giveUpAtMs: pending.giveUpAtMs };
      const decision = decide(result, pending.attempts + 1, times, random);
      return { kind: "failed", atMs, failure: result, decision };
    },
    store({ seq }, outcome) {
      if (outcome.kind === "delivered") {
        return outbox.settle(seq, { state: "delivered", settledAtMs: outcome.atMs });
      }
      const { decision, failure, atMs } = outcome;
      return decision.kind === "dead"
        ? outbox.settle(seq, { state: "dead", reason: decision.reason, settledAtMs: atMs })
        : outbox.retryLater(seq, {
            reason: failure.reason,
            nextAttemptAtMs: decision.nextAttemptAtMs,
          });
    },
    tell(pending, outcome) {
      if (outcome.kind === "delivered") tellDelivered(pending, outcome.atMs);
      else tellFailed(pending, outcome.failure, outcome.decision);
    },
  };
}
