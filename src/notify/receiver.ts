import type { Notification } from "../alerts/notification.ts";

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

/** Why a single attempt failed. `expired` and `unreadable` apply to a notification as a whole. */
export type AttemptFailureReason = Exclude<DeliveryFailureReason, "expired" | "unreadable">;

export interface AttemptFailure {
  readonly kind: "failed";
  readonly reason: AttemptFailureReason;
  /** A status code or the code of a network error, for a person. Contains no address. */
  readonly detail: string;
  /** The pause that the receiver asked for. Milliseconds; null: it did not ask. */
  readonly retryAfterMs: number | null;
  /** Of a receiver with several recipients: those that have it or refused it for good, and need not get it again. */
  readonly takenBy?: readonly string[];
}

export interface Delivered {
  readonly kind: "delivered";
  /** What the receiver did not get as it is configured, for a person. Default: nothing. Contains no secret. */
  readonly note?: string;
}

export type SendResult =
  | Delivered
  | AttemptFailure
  /** sandwatch aborted the attempt, so it says nothing about the receiver. */
  | { readonly kind: "aborted" };

export function failed(
  reason: AttemptFailureReason,
  detail: string,
  retryAfterMs: number | null = null,
): AttemptFailure {
  return { kind: "failed", reason, detail, retryAfterMs };
}

/** A destination of notifications. One file per type, in `receivers/`. */
export interface Receiver {
  readonly name: string;
  /** The pause after each attempt, in milliseconds, one notification at a time. Default: several at once, no pause. */
  readonly restMs?: number;
  /**
   * Makes one attempt. Never rejects, and ends soon after the signal aborts.
   *
   * @param takenBy as an earlier attempt returned it
   */
  send(
    notification: Notification,
    signal: AbortSignal,
    takenBy?: readonly string[],
  ): Promise<SendResult>;
  /** Starts periodic work of the receiver, such as posting alerts again; `close` ends it. */
  start?(): void;
  close?(): Promise<void>;
}

/** Counts the results of deliveries. */
export interface DeliveryObserver {
  attemptFailed(receiver: string, reason: AttemptFailureReason): void;
  /** @param delaySeconds from the end of the poll that observed the cause until the receiver accepted the notification */
  delivered(receiver: string, delaySeconds: number): void;
  dead(receiver: string, reason: DeliveryFailureReason): void;
}

type Write = (fields: Readonly<Record<string, string | number>>, message: string) => void;

/** The part of a pino logger that this folder writes to. */
export type Log = Readonly<Record<"info" | "warn" | "error", Write>>;

export const silentLog: Log = { info() {}, warn() {}, error() {} };
