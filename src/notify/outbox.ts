import type { IncidentOutcome } from "../core/incident-ledger.ts";
import type { ReceiverState } from "../core/judge-receivers.ts";
import type { Notification, StoredOutboxItem } from "../core/notification.ts";
import type { DeliveryFailureReason } from "./receiver.ts";

/** A notification that was composed and is about to be stored. Times as in `PendingNotification`. */
export interface NewNotification {
  readonly notification: Notification;
  readonly itemSeqs: readonly number[];
  /** The names of the groups that it tells of. */
  readonly groupNames: readonly string[];
  readonly nextAttemptAtMs: number;
  readonly giveUpAtMs: number;
}

/** A stored notification that was neither delivered nor given up. */
export interface PendingNotification {
  readonly seq: number;
  readonly notification: Notification;
  /** How often it was tried. */
  readonly attempts: number;
  /** An attempt that fails from here on was the last. Milliseconds of the delivery clock. */
  readonly giveUpAtMs: number;
}

/** A pending notification as it was read; null where it cannot be read. */
export interface DueNotification extends Omit<PendingNotification, "notification"> {
  readonly notification: Notification | null;
}

/** What a notification came to. */
export type Settlement =
  | { readonly state: "delivered"; readonly settledAtMs: number }
  | {
      readonly state: "dead";
      readonly reason: DeliveryFailureReason;
      readonly settledAtMs: number;
    };

/** One attempt that came to an end, as it is kept. */
export interface EndedAttempt {
  /** UTC milliseconds. */
  readonly atMs: number;
  /** Null: the receiver took the notification. */
  readonly failure: { readonly reason: DeliveryFailureReason; readonly detail: string } | null;
}

/** Bounds for the times of pending notifications, in milliseconds of the delivery clock. */
export interface TimeBounds {
  readonly nowMs: number;
  readonly latestNextAttemptAtMs: number;
  readonly earliestGiveUpAtMs: number;
  readonly latestGiveUpAtMs: number;
}

/**
 * What delivery needs of the store. Each call is one transaction and rejects only when the store is
 * broken.
 */
export interface Outbox {
  /**
   * Items of the receiver that no notification tells yet, oldest first.
   *
   * @param onUnreadable called with each that cannot be read
   */
  openItems(
    receiver: string,
    limit: number,
    onUnreadable: (seq: number) => void,
  ): Promise<readonly StoredOutboxItem[]>;
  /** Dead-letters items that cannot be read. What that means for the receiver is judged as in `settle`. */
  settleUnreadable(
    receiver: string,
    itemSeqs: readonly number[],
    settlement: Settlement,
    judge: (state: ReceiverState) => IncidentOutcome,
  ): Promise<IncidentOutcome>;
  /** When groups of the receiver were told of at or after a moment, by name. UTC milliseconds. */
  groupTimes(receiver: string, sinceMs: number): Promise<ReadonlyMap<string, number>>;
  /** Stores notifications in the order of telling and marks their items as told by them. */
  compose(notifications: readonly NewNotification[]): Promise<void>;
  /**
   * Pending notifications whose next attempt is due, longest due first. One waits while an earlier
   * one of the same receiver that shares an incident is still pending.
   */
  due(
    receiver: string,
    nowMs: number,
    limit: number,
    inFlight: readonly number[],
  ): Promise<readonly DueNotification[]>;
  /** When the next attempt of those that need not wait for another is due; null: there is none. */
  nextAttemptAtMs(receiver: string, inFlight: readonly number[]): Promise<number | null>;
  /**
   * Ends a notification with its last attempt. What that means for the receiver is judged and kept
   * in the same transaction.
   *
   * @returns what was judged; null: the notification was not pending any more
   */
  settle(
    seq: number,
    settlement: Settlement,
    attempt: EndedAttempt,
    judge: (state: ReceiverState) => IncidentOutcome,
  ): Promise<IncidentOutcome | null>;
  retryLater(seq: number, nextAttemptAtMs: number, attempt: EndedAttempt): Promise<void>;
  /**
   * Takes the times over that an earlier process stored. What was due is due now, and is given up as
   * much later: the time in which nobody tried does not count.
   */
  boundTimes(receiver: string, bounds: TimeBounds): Promise<void>;
  /** Removes items that say that something is over and are in no notification yet. */
  discardResolves(receiver: string): Promise<void>;
}
