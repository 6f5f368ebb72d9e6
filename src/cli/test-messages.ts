import type { ReceiverConfig } from "../config/schema-receivers.ts";
import { noIncidentDetails } from "../core/notification.ts";
import type { Notification, NotifiedIncident } from "../core/notification.ts";

/**
 * What a receiver is sent to try it out. One that keeps alerts until they are resolved gets an alert
 * and at once its end, so that nothing stays open.
 *
 * @param id names the test; no two share one
 * @param nowMs UTC milliseconds
 */
export function testMessages(
  receiver: ReceiverConfig,
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
  if (!keepsAlerts(receiver)) return [message("", [])];
  const firing = testIncident(receiver.name, id, nowMs);
  const resolved: NotifiedIncident = {
    ...firing,
    state: "resolved",
    resolvedAtMs: nowMs,
    resolvedReason: "recovered",
  };
  return [message("_firing", [firing]), message("_resolved", [resolved])];
}

function keepsAlerts(receiver: ReceiverConfig): boolean {
  switch (receiver.type) {
    case "pagerduty":
      return true;
    case "webhook":
      return receiver.format === "alertmanager" && receiver.bodyTemplate === null;
    case "slack":
    // Its test alert ends by itself.
    case "alertmanager":
    case "heartbeat":
      return false;
  }
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
