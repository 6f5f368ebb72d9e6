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
  /** Dead-letters a notification that cannot be read. */
  lose(seq: number): Promise<void>;
  /** Dead-letters items that cannot be read. */
  loseItems(itemSeqs: readonly number[]): Promise<void>;
  /** Says what was held back of the log. */
  close(): void;
}

const unreadable = "unreadable";
const unreadableText = "its row in the store cannot be read";

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

  const judging =
    (event: ReceiverEvent, atMs: number) =>
    (state: ReceiverState): IncidentOutcome =>
      judgeReceiver(state, event, atMs, judge);

  const tellLost = (fields: Readonly<Record<string, number>>): void => {
    observe.dead(receiver, unreadable);
    deadLog.add(
      { receiver, reason: unreadable, detail: unreadableText, ...fields },
      unreadableText,
    );
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
      if (outcome.kind === "delivered") {
        const settlement = { state: "delivered", settledAtMs: atMs } as const;
        return outbox.settle(
          seq,
          settlement,
          { atMs, failure: null },
          judging({ kind: "took" }, atMs),
        );
      }
      const { decision, failure } = outcome;
      const attempt = { atMs, failure };
      if (decision.kind === "retry") {
        await outbox.retryLater(seq, decision.nextAttemptAtMs, attempt);
        return null;
      }
      const { reason } = decision;
      const settlement = { state: "dead", reason, settledAtMs: atMs } as const;
      return outbox.settle(seq, settlement, attempt, judging({ kind: "lost", reason }, atMs));
    },
    tell(pending, outcome, judged) {
      if (outcome.kind === "delivered") tellDelivered(pending, outcome.atMs);
      else tellFailed(pending, outcome.failure, outcome.decision);
      if (judged) onJudged(judged);
    },
    async lose(seq) {
      const atMs = clock.now().utcMs;
      const settlement = { state: "dead", reason: unreadable, settledAtMs: atMs } as const;
      const attempt = { atMs, failure: { reason: unreadable, detail: unreadableText } } as const;
      const event = { kind: "lost", reason: unreadable } as const;
      const judged = await outbox.settle(seq, settlement, attempt, judging(event, atMs));
      if (!judged) return;
      tellLost({ notification_seq: seq });
      onJudged(judged);
    },
    async loseItems(itemSeqs) {
      const atMs = clock.now().utcMs;
      const settlement = { state: "dead", reason: unreadable, settledAtMs: atMs } as const;
      const judgeLost = judging({ kind: "lost", reason: unreadable }, atMs);
      const judged = await outbox.settleUnreadable(receiver, itemSeqs, settlement, judgeLost);
      for (const item of itemSeqs) tellLost({ outbox_item: item });
      onJudged(judged);
    },
    close: () => deadLog.close(),
  };
}
