import type { CurrentSuppressions } from "../alerts/silence.ts";
import { noOutcome, type AlertOptions, type IncidentOutcome } from "../alerts/incident-engine.ts";
import { judgeReceiver, type ReceiverEvent } from "../alerts/judge-receivers.ts";
import type { Notification } from "../alerts/notification.ts";
import { type Clock, delay } from "../lib/clock.ts";
import type { Attempt } from "../store/notifications.ts";
import type { ReadyNotification, Outbox, Settlement } from "../store/outbox.ts";
import type { DeliveryFailureReason, DeliveryObserver, Log } from "./receiver.ts";
import type { Decision } from "./retry.ts";

export interface RecorderDeps {
  readonly outbox: Pick<Outbox, "settle" | "retryLater">;
  readonly clock: Clock;
  readonly log: Log;
  readonly observe: DeliveryObserver;
  /** Who is notified when the receiver fails. */
  readonly judge: Omit<AlertOptions, "suppressions">;
  readonly suppressions: CurrentSuppressions;
  /** Publishes the incident of the receiver, which was committed, perhaps with notifications for other receivers. */
  readonly commits: {
    publish(of: { target: null; incidents: IncidentOutcome; atMs: number }): Promise<void>;
  };
}

/** An attempt that ended, and what becomes of its notification. */
export interface EndedAttempt extends Attempt {
  /** Null: the receiver accepted the notification. */
  readonly failure: { readonly reason: DeliveryFailureReason; readonly detail: string } | null;
  readonly decision: Decision | { readonly kind: "delivered" };
}

const unreadable = { reason: "unreadable", detail: "its row in the store cannot be read" } as const;

/** How a pending notification that cannot be read ends: it is not sent. */
export function unreadableAttempt(atMs: number): EndedAttempt {
  return { atMs, failure: unreadable, decision: { kind: "dead", reason: unreadable.reason } };
}

/** Stores, counts and logs how attempts end. */
export function createRecorder(receiver: string, deps: RecorderDeps) {
  const { outbox, clock, log, observe, judge, suppressions, commits } = deps;
  const deadLog = createDeadLog(receiver, deps);
  /** A receiver that is down is logged once, not at every attempt. */
  let failing = false;

  const reportDead = (
    reason: DeliveryFailureReason,
    fields: Readonly<Record<string, string | number>>,
    summary: string,
  ): void => {
    observe.dead(receiver, reason);
    deadLog.add({ receiver, ...fields, reason }, summary);
  };

  const reportAttempt = (
    { id, causedAtMs, summary }: Notification,
    attempts: number,
    { atMs, failure, decision, note }: EndedAttempt,
  ): void => {
    const fields = { receiver, notification_id: id, attempts };
    if (failure === null) {
      failing = false;
      const delaySeconds = Math.max(0, atMs - causedAtMs) / 1_000;
      observe.delivered(receiver, delaySeconds);
      const event = "notification.delivered";
      const whole = { event, ...fields, delay_seconds: delaySeconds };
      if (note === undefined) return log.info(whole, `${receiver}: ${summary}`);
      return log.warn({ ...whole, detail: note }, `${receiver}: ${note}: ${summary}`);
    }
    const { reason, detail } = failure;
    if (reason !== "unreadable" && reason !== "expired") observe.attemptFailed(receiver, reason);
    if (decision.kind === "dead")
      return reportDead(decision.reason, { ...fields, detail }, summary);
    const text = `${receiver}: notifications are not accepted, they are retried`;
    if (!failing) log.warn({ event: "notification.retry", ...fields, detail, reason }, text);
    failing = true;
  };

  return {
    /** Stores it in one transaction with what it means for the incident of the receiver. */
    async store(
      { seq }: ReadyNotification,
      { decision, ...attempt }: EndedAttempt,
    ): Promise<IncidentOutcome | null> {
      if (decision.kind === "retry") {
        await outbox.retryLater(seq, decision.nextAttemptAtMs, attempt);
        return null;
      }
      const { atMs: settledAtMs } = attempt;
      const [settlement, event]: [Settlement, ReceiverEvent] =
        decision.kind === "dead"
          ? [
              { state: "dead", reason: decision.reason, settledAtMs },
              { kind: "dead_lettered", reason: decision.reason },
            ]
          : [{ state: "delivered", settledAtMs }, { kind: "took" }];
      return outbox.settle(seq, settlement, attempt, (state) => {
        // Nothing changes for a receiver that takes notifications as it did before.
        if (event.kind === "took" && state.incident === null) return noOutcome;
        const options = { ...judge, suppressions: suppressions.at(clock.now().utcMs) };
        return judgeReceiver(state, event, settledAtMs, options);
      });
    },

    /** Counts and logs it. Only for what was stored. */
    report(
      { seq, notification, attempts }: ReadyNotification,
      ended: EndedAttempt,
      judged: IncidentOutcome | null,
    ): void {
      const { reason, detail } = unreadable;
      if (notification) reportAttempt(notification, attempts + 1, ended);
      else reportDead(reason, { detail, notification_seq: seq }, detail);
      if (judged) void commits.publish({ target: null, incidents: judged, atMs: ended.atMs });
    },

    /** Logs what was counted and not logged yet. */
    close: () => deadLog.close(),
  };
}

const minuteMs = 60_000;

/** Logs dead letters, at most one line a minute, and the number of the others. */
function createDeadLog(receiver: string, { clock, log }: Pick<RecorderDeps, "clock" | "log">) {
  /** On the monotonic clock. */
  let quietUntilMs = -Infinity;
  let counted = 0;
  let cancelTimer = (): void => {};

  const logCount = (): void => {
    cancelTimer();
    if (counted === 0) return;
    log.error(
      { event: "notification.more_dead", receiver, count: counted },
      `${receiver}: ${counted} more notifications were dead-lettered`,
    );
    counted = 0;
    quietUntilMs = clock.now().monotonicMs + minuteMs;
  };

  return {
    add(fields: Readonly<Record<string, string | number>>, summary: string): void {
      const nowMs = clock.now().monotonicMs;
      if (nowMs < quietUntilMs) {
        counted += 1;
        if (counted === 1) cancelTimer = clock.setTimer(quietUntilMs - nowMs, logCount);
        return;
      }
      quietUntilMs = nowMs + minuteMs;
      const text = `${receiver}: a notification was dead-lettered: ${summary}`;
      log.error({ event: "notification.dead", ...fields }, text);
    },
    close: logCount,
  };
}

const retryAfterMs = 1_000;

/**
 * Repeats a store operation each second until it succeeds: a failing store must not end delivery, and a notification that
 * was delivered must not be sent again because that could not be stored.
 */
export function createStoreRetries(
  receiver: string,
  { clock, log }: { readonly clock: Clock; readonly log: Log },
  stopped: AbortSignal,
) {
  /** How many operations fail at present. Only the first is logged. */
  let failing = 0;

  /**
   * @param onRefused called when the operation fails for the first time
   * @returns null: delivery was stopped before it succeeded
   */
  return async <T>(
    operation: () => Promise<T>,
    onRefused?: () => void,
  ): Promise<{ readonly value: T } | null> => {
    let isFirst = true;
    try {
      for (;;) {
        try {
          return { value: await operation() };
        } catch (error) {
          if (isFirst) {
            const fields = { event: "delivery.store_failed", receiver, error: String(error) };
            if (failing++ === 0)
              log.error(fields, `${receiver}: the store failed; the delivery is retried`);
            isFirst = false;
            onRefused?.();
          }
        }
        await delay(clock, retryAfterMs, stopped);
        if (stopped.aborted) return null;
      }
    } finally {
      if (!isFirst) failing -= 1;
    }
  };
}
