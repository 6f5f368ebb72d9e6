import { Webhook } from "standardwebhooks";
import { summaryAt } from "../../alerts/notification.ts";
import type { Notification, NotifiedIncident } from "../../alerts/notification.ts";
import { fillBody } from "../../alerts/template.ts";
import type { Json } from "../../alerts/template.ts";
import type { ConfigOf } from "../../config/schema-receivers.ts";
import { parseReceiverUrl } from "../outbound.ts";
import type { SenderDeps } from "../outbound.ts";
import type { Receiver } from "../receiver.ts";
import { alertmanagerBody } from "./alertmanager-body.ts";
import { delayedSeconds, isoTime, subjectFields } from "./message-text.ts";

export type WebhookSettings = Pick<
  ConfigOf<"webhook">,
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
  const { name, format, bodyTemplate } = settings;
  const url = parseReceiverUrl(settings);
  const signer = createSigner(settings);
  const template: Json = bodyTemplate && JSON.parse(bodyTemplate.reveal());
  const bodyOf = format === "alertmanager" ? alertmanagerBody : webhookBody;

  return {
    name,
    keepsAlerts: format === "alertmanager" && bodyTemplate === null,
    send(notification, signal) {
      const { id } = notification;
      const nowMs = clock.now().utcMs;
      const content = template
        ? fillBody(template, notification, nowMs)
        : bodyOf(notification, nowMs);
      const body = JSON.stringify(content);
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

/**
 * The body in the format of Standard Webhooks: `type`, `timestamp`, `data`.
 *
 * @param nowMs when the notification is sent. UTC milliseconds
 */
export function webhookBody(notification: Notification, nowMs: number) {
  const { type, createdAtMs, rule, severity, group, incidents } = notification;
  const { truncated, runbookUrl } = notification;
  return {
    type,
    timestamp: isoTime(createdAtMs),
    data: {
      rule,
      severity,
      group,
      summary: summaryAt(notification, nowMs),
      incidents: incidents.map(incidentFields),
      truncated,
      ...(runbookUrl !== null && { runbook_url: runbookUrl }),
      delayed_seconds: delayedSeconds(notification, nowMs),
    },
  };
}

function incidentFields(incident: NotifiedIncident) {
  const { receiver, probe, ...subject } = subjectFields(incident);
  const { id, state, startedAtMs, resolvedAtMs, flapping, acknowledgedBy } = incident;
  return {
    id,
    state,
    ...subject,
    status: incident.status,
    previous_status: incident.previousStatus,
    started_at: isoTime(startedAtMs),
    resolved_at: resolvedAtMs === null ? null : isoTime(resolvedAtMs),
    resolved_reason: incident.resolvedReason,
    ...(receiver !== null && { receiver }),
    ...(probe !== null && { probe }),
    ...(flapping && { flapping: true }),
    ...(acknowledgedBy !== null && { acknowledged_by: acknowledgedBy }),
  };
}
