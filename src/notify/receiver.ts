import type { Notification } from "../core/notification.ts";

/** Why an attempt, or a notification as a whole, failed. A closed set: it labels metrics. */
export const deliveryFailureReasons = [
  "timeout",
  "network",
  "rate_limited",
  "server_error",
  "rejected",
  "gone",
  "redirect",
  "denied",
  "expired",
  "unreadable",
] as const;
export type DeliveryFailureReason = (typeof deliveryFailureReasons)[number];

/**
 * `expired` is never one attempt's failure: it is the end of all of them. `unreadable` is that of a
 * stored notification, which is never attempted.
 */
export type AttemptFailureReason = Exclude<DeliveryFailureReason, "expired" | "unreadable">;

export interface AttemptFailure {
  readonly kind: "failed";
  readonly reason: AttemptFailureReason;
  /** A status code or a network error's code, for a person. Holds no address. */
  readonly detail: string;
  /** How long the receiver asked to be left alone. Milliseconds; null: it did not ask. */
  readonly retryAfterMs: number | null;
}

export type SendResult = { readonly kind: "delivered" } | AttemptFailure;

/** Where notifications go. One file a kind, in `receivers/`. */
export interface Receiver {
  readonly name: string;
  /**
   * How long it is left alone after each attempt, in milliseconds; it then gets one message at a
   * time. Left out: several at a time without rest.
   */
  readonly restMs?: number;
  /**
   * Makes one attempt. It never rejects, and ends soon after the signal aborts: then as delivered
   * if the receiver had taken the message by then.
   */
  send(notification: Notification, signal: AbortSignal): Promise<SendResult>;
  /** From now on does what it does of itself, beside sending. Ends with `close`. */
  start?(): void;
  close(): Promise<void>;
}
