import { Webhook } from "standardwebhooks";
import type { WebhookConfig } from "../../config/receivers/webhook.ts";
import { fillBody } from "../../alerts/template.ts";
import type { Json } from "../../alerts/template.ts";
import { summaryAt } from "../../alerts/notification.ts";
import type { Notification, NotifiedIncident } from "../../alerts/notification.ts";
import { parseReceiverUrl } from "../outbound.ts";
import type { SenderDeps } from "../outbound.ts";
import type { Receiver } from "../receiver.ts";
import { renderAlertmanagerBody } from "./alertmanager-body.ts";
import { delayedSeconds, isoTime, subjectFields } from "./message-text.ts";

export type WebhookSettings = Pick<
  WebhookConfig,
  "name" | "url" | "secret" | "format" | "bodyTemplate"
>;

/**
 * Posts notifications as Standard Webhooks, in any of the formats that a body can have.
 *
 * @throws {Error} when the URL or the signing secret cannot be used; the error contains neither
 */
export function createWebhookReceiver(
  settings: WebhookSettings,
  { outbound, clock }: SenderDeps,
): Receiver {
  const url = parseReceiverUrl(settings);
  const signer = createSigner(settings);
  const render = chooseBody(settings);

  return {
    name: settings.name,
    keepsAlerts: settings.format === "alertmanager" && settings.bodyTemplate === null,
    send(notification, signal) {
      const { id } = notification;
      const nowMs = clock.now().utcMs;
      const body = render(notification, nowMs);
      const headers = {
        "content-type": "application/json",
        "webhook-id": id,
        "webhook-timestamp": String(Math.floor(nowMs / 1_000)),
        ...(signer && { "webhook-signature": signer.sign(id, new Date(nowMs), body) }),
      };
      return outbound.send({ url, body, headers }, signal);
    },
  };
}

function createSigner({ name, secret }: WebhookSettings): Webhook | null {
  if (!secret) return null;
  try {
    return new Webhook(secret.reveal());
  } catch {
    throw new Error(`The secret of receiver ${name} is not whsec_ followed by base64.`);
  }
}

type RenderBody = (notification: Notification, nowMs: number) => string;

function chooseBody({ format, bodyTemplate }: WebhookSettings): RenderBody {
  if (bodyTemplate !== null) {
    const template: Json = JSON.parse(bodyTemplate.reveal());
    return (notification, nowMs) => JSON.stringify(fillBody(template, notification, nowMs));
  }
  switch (format) {
    case "sandwatch":
      return renderWebhookBody;
    case "alertmanager":
      return renderAlertmanagerBody;
  }
}

/**
 * The body in the format of Standard Webhooks: `type`, `timestamp`, `data`.
 *
 * @param nowMs when the notification is sent. UTC milliseconds
 */
export function renderWebhookBody(notification: Notification, nowMs: number): string {
  return JSON.stringify({
    type: notification.type,
    timestamp: isoTime(notification.createdAtMs),
    data: {
      rule: notification.rule,
      severity: notification.severity,
      group: notification.group,
      summary: summaryAt(notification, nowMs),
      incidents: notification.incidents.map(incidentFields),
      truncated: notification.truncated,
      ...(notification.runbookUrl !== null && { runbook_url: notification.runbookUrl }),
      delayed_seconds: delayedSeconds(notification, nowMs),
    },
  });
}

function incidentFields(incident: NotifiedIncident) {
  const { receiver, probe, ...subject } = subjectFields(incident);
  return {
    id: incident.id,
    state: incident.state,
    ...subject,
    status: incident.status,
    previous_status: incident.previousStatus,
    started_at: isoTime(incident.startedAtMs),
    resolved_at: incident.resolvedAtMs === null ? null : isoTime(incident.resolvedAtMs),
    resolved_reason: incident.resolvedReason,
    ...(receiver !== null && { receiver }),
    ...(probe !== null && { probe }),
    ...(incident.flapping && { flapping: true }),
    ...(incident.acknowledgedBy !== null && { acknowledged_by: incident.acknowledgedBy }),
  };
}
