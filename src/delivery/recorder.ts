import type { IncidentOutcome } from "../core/incident-ledger.ts";
import { judgeReceiver } from "../core/judge-receivers.ts";
import type { ReceiverEvent, ReceiverState } from "../core/judge-receivers.ts";
import { createDeadLog } from "./dead-log.ts";
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
  /** Gives what it means for the receiver; null: nothing. */
  store(pending: PendingNotification, outcome: Outcome): Promise<IncidentOutcome | null>;
  /** Only for an outcome that was stored. */
  tell(pending: PendingNotification, outcome: Outcome, judged: IncidentOutcome | null): void;
  /** Says what was held back of the log. */
  close(): void;
}

export function createRecorder(
  receiver: string,
  { outbox, clock, deliveryClock, random, log, observe, judge, onJudged }: DeliveryDeps,
): Recorder {
  const deadLog = createDeadLog(receiver, { clock, log });
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
      deadLog.add({ ...fields, reason: decision.reason }, notification.summary);
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
    async store({ seq }, outcome) {
      const { atMs } = outcome;
      const judging =
        (event: ReceiverEvent) =>
        (state: ReceiverState): IncidentOutcome =>
          judgeReceiver(state, event, atMs, judge);
      if (outcome.kind === "delivered") {
        const settlement = { state: "delivered", settledAtMs: atMs } as const;
        return outbox.settle(seq, settlement, { atMs, failure: null }, judging({ kind: "took" }));
      }
      const { decision, failure } = outcome;
      const attempt = { atMs, failure };
      if (decision.kind === "retry") {
        await outbox.retryLater(seq, decision.nextAttemptAtMs, attempt);
        return null;
      }
      const { reason } = decision;
      const settlement = { state: "dead", reason, settledAtMs: atMs } as const;
      return outbox.settle(seq, settlement, attempt, judging({ kind: "lost", reason }));
    },
    tell(pending, outcome, judged) {
      if (outcome.kind === "delivered") tellDelivered(pending, outcome.atMs);
      else tellFailed(pending, outcome.failure, outcome.decision);
      if (judged) onJudged(judged);
    },
    close: () => deadLog.close(),
  };
}
