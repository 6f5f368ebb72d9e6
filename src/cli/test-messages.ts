import { noIncidentDetails } from "../alerts/notification.ts";
import type { Notification, NotifiedIncident } from "../alerts/notification.ts";
import type { Receiver } from "../notify/receiver.ts";

/**
 * The notifications that test a receiver. A receiver that keeps alerts open until they are resolved gets an alert and at
 * once its end.
 *
 * @param id names the test; no two share one
 * @param nowMs UTC milliseconds
 */
export function testMessages(
  receiver: Pick<Receiver, "name" | "keepsAlerts">,
  id: string,
  nowMs: number,
): readonly Notification[] {
  const message = (step: string, incidents: readonly NotifiedIncident[]): Notification => ({
    id: `msg_${id}${step}`,
    receiver: receiver.name,
    type: "test",
    rule: "test",
    severity: "info",
    group: {},
    summary: "A test message from sandwatch: this receiver works",
    createdAtMs: nowMs,
    causedAtMs: nowMs,
    runbookUrl: null,
    incidents,
    truncated: 0,
  });
  if (receiver.keepsAlerts !== true) return [message("", [])];
  const firing = testIncident(receiver.name, id, nowMs);
  const resolved: NotifiedIncident = {
    ...firing,
    state: "resolved",
    resolvedAtMs: nowMs,
    resolvedReason: "recovered",
  };
  return [message("_firing", [firing]), message("_resolved", [resolved])];
}

function testIncident(receiver: string, id: string, nowMs: number): NotifiedIncident {
  return {
    ...noIncidentDetails,
    id: `sandwatch-test-${id}`,
    state: "firing",
    subject: "receiver",
    startedAtMs: nowMs,
    receiver,
  };
}
