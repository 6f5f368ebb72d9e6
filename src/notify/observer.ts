import type { AttemptFailureReason, DeliveryFailureReason } from "./receiver.ts";

/** Where delivery counts what it does. */
export interface DeliveryObserver {
  attemptFailed(receiver: string, reason: AttemptFailureReason): void;
  /** @param delaySeconds from the end of the poll that saw the cause to the receiver's yes */
  delivered(receiver: string, delaySeconds: number): void;
  dead(receiver: string, reason: DeliveryFailureReason): void;
}

type LogFields = Readonly<Record<string, string | number>>;

/** The part of a pino logger that delivery writes to. */
export interface Log {
  info(fields: LogFields, message: string): void;
  warn(fields: LogFields, message: string): void;
  error(fields: LogFields, message: string): void;
}

export const silentLog: Log = { info() {}, warn() {}, error() {} };
