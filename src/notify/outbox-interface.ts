import type { IncidentOutcome } from "../alerts/incident-engine.ts";
import type { ReceiverState } from "../alerts/judge-receivers.ts";
import type { NewNotification, Notification, StoredOutboxItem } from "../alerts/notification.ts";
import type { DeliveryFailureReason } from "./receiver.ts";

/** A stored notification that is neither delivered nor dead-lettered. */
export interface DueNotification {
  readonly seq: number;
  /** Null: its row cannot be read, so it is a dead letter. */
  readonly notification: Notification | null;
  readonly attempts: number;
  /** The recipients of its receiver that have it or refused it for good, where there are several. */
  readonly takenBy: readonly string[];
  /** An attempt that fails from then on is the last. Milliseconds of the delivery clock. */
  readonly giveUpAtMs: number;
}

export type Settlement = { readonly settledAtMs: number } & (
  | { readonly state: "delivered" }
  | { readonly state: "dead"; readonly reason: DeliveryFailureReason }
);

export interface Attempt {
  /** UTC milliseconds. */
  readonly atMs: number;
  /** Null: the receiver accepted the notification. */
  readonly failure: { readonly reason: DeliveryFailureReason; readonly detail: string } | null;
  /** As `Delivered` has it. */
  readonly note?: string;
  /** As `AttemptFailure` has it. */
  readonly takenBy?: readonly string[];
}

/** Limits for the times of pending notifications, in milliseconds of the delivery clock. */
export interface TimeBounds {
  readonly nowMs: number;
  readonly latestNextAttemptAtMs: number;
  readonly earliestGiveUpAtMs: number;
  readonly latestGiveUpAtMs: number;
}

export type JudgeReceiver = (state: ReceiverState) => IncidentOutcome;

/** What delivery needs of the store. Each call is one transaction, and rejects only when the store fails. */
export interface Outbox {
  /**
   * Items of the receiver that are in no notification yet, oldest first, without those that wait until a pending
   * notification about their subject has ended.
   */
  openItems(
    receiver: string,
    limit: number,
    onHeld: () => void,
  ): Promise<readonly StoredOutboxItem[]>;
  /** When the groups of the receiver were last notified, at or after a moment, by name. UTC milliseconds. */
  groupTimes(receiver: string, sinceMs: number): Promise<ReadonlyMap<string, number>>;
  /**
   * How many firing incidents of a rule the receiver was notified of, with these values of the fields of its groups.
   *
   * @returns `most` if there are more
   */
  countFiring(
    receiver: string,
    rule: string,
    group: Notification["group"],
    most: number,
  ): Promise<number>;
  /** Stores notifications in the order in which they are sent, and links their items to them. */
  compose(notifications: readonly NewNotification[]): Promise<void>;
  /**
   * Pending notifications whose next attempt is due, longest due first. A notification waits while an earlier one of the
   * same receiver that shares a subject is pending.
   */
  due(
    receiver: string,
    nowMs: number,
    limit: number,
    inFlight: readonly number[],
  ): Promise<readonly DueNotification[]>;
  /** When the next attempt is due of those that wait for no other; null: there is none. */
  nextAttemptAtMs(receiver: string, inFlight: readonly number[]): Promise<number | null>;
  /**
   * Ends a notification with its last attempt. What that means for the receiver is judged and stored in the same
   * transaction.
   *
   * @returns what was judged; null: the notification was not pending any more
   */
  settle(
    seq: number,
    settlement: Settlement,
    attempt: Attempt,
    judge: JudgeReceiver,
  ): Promise<IncidentOutcome | null>;
  retryLater(seq: number, nextAttemptAtMs: number, attempt: Attempt): Promise<void>;
  /**
   * Adopts the times that an earlier process stored. What was overdue is due now, and is retried longer by as much: time
   * in which no process ran does not count.
   */
  boundTimes(receiver: string, bounds: TimeBounds): Promise<void>;
  discardResolves(receiver: string): Promise<void>;
}
