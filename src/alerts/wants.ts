import type { IncidentMessage } from "./notification.ts";

/** What a receiver wants to hear of, beside that something fires or still does. */
export interface Wishes {
  readonly sendResolved: boolean;
  readonly sendAcknowledged: boolean;
}

/**
 * Whether a receiver is to be notified of this. One that is not configured any more is owed the end of
 * what it was notified of: should it return, that waits for it.
 *
 * @param receiver undefined: it is not configured
 */
export function wants(receiver: Wishes | undefined, type: IncidentMessage): boolean {
  if (!receiver) return type === "incident.resolved";
  if (type === "incident.resolved") return receiver.sendResolved;
  return type !== "incident.acknowledged" || receiver.sendAcknowledged;
}
