import { latenessMs, summaryAt } from "../../core/lateness.ts";
import type { Notification, ToldIncident } from "../../core/notification.ts";
import { isoTime } from "./texts.ts";

/**
 * The body of a webhook request, in the form of Standard Webhooks: `type`, `timestamp`, `data`.
 *
 * @param nowMs when the message is sent. UTC milliseconds
 */
export function renderWebhookBody(notification: Notification, nowMs: number): string {
  const lateMs = latenessMs(notification, nowMs);
  return JSON.stringify({
    type: notification.type,
    timestamp: isoTime(notification.createdAtMs),
    data: {
      rule: notification.rule,
      severity: notification.severity,
      group: notification.group,
      summary: summaryAt(notification, nowMs),
      incidents: notification.incidents.map(renderIncident),
      truncated: notification.truncated,
      ...(notification.runbookUrl !== null && { runbook_url: notification.runbookUrl }),
      ...(lateMs !== null && { delayed_seconds: Math.round(lateMs / 1_000) }),
    },
  });
}

function renderIncident(incident: ToldIncident): Readonly<Record<string, string | boolean | null>> {
  return {
    id: incident.id,
    state: incident.state,
    subject: incident.subject,
    region: incident.region,
    key: incident.key,
    sandbox_id: incident.sandboxId,
    server_id: incident.serverId,
    server_name: incident.serverName,
    status: incident.status,
    previous_status: incident.previousStatus,
    started_at: isoTime(incident.startedAtMs),
    resolved_at: incident.resolvedAtMs === null ? null : isoTime(incident.resolvedAtMs),
    resolved_reason: incident.resolvedReason,
    ...(incident.receiver !== null && { receiver: incident.receiver }),
    ...(incident.probe !== null && { probe: incident.probe }),
    ...(incident.flapping && { flapping: true }),
    ...(incident.acknowledgedBy !== null && { acknowledged_by: incident.acknowledgedBy }),
  };
}
