import type { IncidentMessage } from "./notification.ts";

/** What a receiver wants to hear of, beside that something fires or still does. */
export interface Wishes {
  readonly sendResolved: boolean;
  readonly sendAcknowledged: boolean;
}

/** Whether a receiver is there and wants to hear of this. */
export function wants(receiver: Wishes | undefined, type: IncidentMessage): boolean {
  if (!receiver) return false;
  if (type === "incident.resolved") return receiver.sendResolved;
  return type !== "incident.acknowledged" || receiver.sendAcknowledged;
}
