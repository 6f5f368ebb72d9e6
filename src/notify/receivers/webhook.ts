import { createHash } from "node:crypto";
import { Webhook } from "standardwebhooks";
import { incidentUrl, messageUrl } from "../../alerts/links.ts";
import { summaryAt } from "../../alerts/notification.ts";
import type { Notification, NotifiedIncident, NotifiedReport } from "../../alerts/notification.ts";
import type { Json } from "../../alerts/template.ts";
import type { ConfigOf } from "../../config/schema-receivers.ts";
import { parseReceiverUrl, type SenderDeps } from "../outbound.ts";
import { failed, type Receiver } from "../receiver.ts";
import { compileBody } from "./body-template.ts";
import { alertLabels, delayedSeconds, incidentFields, incidentLine } from "./message-text.ts";
import { inCommon, isoTime, shortTexts, stateFields, type Texts } from "./message-text.ts";

export type WebhookSettings = Pick<
  ConfigOf<"webhook">,
  "name" | "url" | "secret" | "headers" | "format" | "bodyTemplate"
>;

/** Posts notifications as Standard Webhooks, in any of the formats that a body can have. */
export function createWebhookReceiver(
  settings: WebhookSettings,
  { outbound, clock, externalUrl = null }: SenderDeps,
): Receiver {
  const { name, headers: secretHeaders, format, bodyTemplate } = settings;
  const url = parseReceiverUrl(settings);
  const signer = createSigner(settings);
  const template: Json = bodyTemplate && JSON.parse(bodyTemplate.reveal());
  const bodyOf = template
    ? compileBody(template)
    : format === "alertmanager"
      ? alertmanagerBody
      : webhookBody;

  return {
    name,
    async send(notification, signal) {
      const { id } = notification;
      const nowMs = clock.now().utcMs;
      const body = written(() => bodyOf(notification, nowMs, externalUrl));
      if (body === null) return failed("rejected", "the template of the body exceeds its limits");
      const headers = {
        "content-type": "application/json",
        "webhook-id": id,
        "webhook-timestamp": String(Math.floor(nowMs / 1_000)),
        ...(signer && { "webhook-signature": signer.sign(id, new Date(nowMs), body) }),
      };
      return outbound.send({ url, body, headers, secretHeaders }, signal);
    },
  };
}

const longestBody = 1024 * 1024;

/** Null: a template takes too much time or memory, or gives too much. */
function written(bodyOf: () => unknown): string | null {
  try {
    const body = JSON.stringify(bodyOf());
    return body.length <= longestBody ? body : null;
  } catch {
    return null;
  }
}

function createSigner({ name, secret }: WebhookSettings): Webhook | null {
  if (!secret) return null;
  try {
    return new Webhook(secret.reveal());
  } catch {
    throw new Error(`The secret of receiver ${name} is not whsec_ followed by base64.`);
  }
}

/** The body in the format of Standard Webhooks: `type`, `timestamp`, `data`. */
export function webhookBody(
  notification: Notification,
  nowMs: number,
  externalUrl: string | null = null,
) {
  const { type, createdAtMs, rule, severity, group, incidents } = notification;
  const { truncated, runbookUrl, stillFiring, report } = notification;
  return {
    type,
    timestamp: isoTime(createdAtMs),
    data: {
      rule,
      severity,
      group,
      summary: summaryAt(notification, nowMs),
      ...(externalUrl !== null && { external_url: messageUrl(externalUrl, notification) }),
      incidents: incidents.map((incident) => ({
        ...incidentFields(incident),
        ...(externalUrl !== null &&
          type !== "test" && { url: incidentUrl(externalUrl, incident.id) }),
      })),
      truncated,
      still_firing: stillFiring,
      ...(runbookUrl !== null && { runbook_url: runbookUrl }),
      delayed_seconds: delayedSeconds(notification, nowMs),
      ...(report && { report: reportFields(report) }),
    },
  };
}

function reportFields({ request, notes, total, rows }: NotifiedReport) {
  return { ...request, notes, total, rows };
}

/** Go's zero time: how Alertmanager says that an alert has not ended. */
const noTime = "0001-01-01T00:00:00Z";

const longestValue = 1_000;

/** The body that Alertmanager sends to webhooks, version 4. URLs that are not known are empty. */
export function alertmanagerBody(
  notification: Notification,
  nowMs: number,
  externalUrl: string | null = null,
) {
  const { receiver, rule, severity, group, incidents, truncated, stillFiring } = notification;
  const isOver = stillFiring === undefined && incidents.every(({ state }) => state === "resolved");
  const { incident, ...groupValues } = group;
  const groupLabels = shortTexts({ alertname: rule, ...groupValues }, longestValue);
  const key = { ...groupLabels, severity, ...(incident !== undefined && { incident }) };
  const alerts = incidents.map((each) => ({
    ...webhookAlert(each, notification, nowMs),
    generatorURL: externalUrl === null ? "" : incidentUrl(externalUrl, each.id),
  }));
  return {
    version: "4",
    groupKey: groupKey(key),
    truncatedAlerts: truncated,
    status: isOver ? "resolved" : "firing",
    receiver,
    groupLabels,
    commonLabels: inCommon(alerts.map(({ labels }) => labels)),
    commonAnnotations: inCommon(alerts.map(({ annotations }) => annotations)),
    externalURL: externalUrl ?? "",
    alerts,
  };
}

function webhookAlert(incident: NotifiedIncident, notification: Notification, nowMs: number) {
  const { rule, severity, runbookUrl } = notification;
  const labels = shortTexts(alertLabels(rule, severity, incident), longestValue);
  const annotations = {
    summary: summaryAt(notification, nowMs),
    description: incidentLine(incident),
    runbook_url: runbookUrl,
    incident_id: incident.id,
    ...stateFields(incident),
    delayed_seconds: delayedSeconds(notification, nowMs)?.toString() ?? null,
  };
  return {
    status: incident.state,
    labels,
    annotations: shortTexts(annotations, longestValue),
    startsAt: isoTime(incident.startedAtMs),
    endsAt: incident.resolvedAtMs === null ? noTime : isoTime(incident.resolvedAtMs),
    fingerprint: createHash("sha256").update(JSON.stringify(labels)).digest("hex").slice(0, 16),
  };
}

/** A `groupKey` as Alertmanager writes it for a route without matchers. */
function groupKey(labels: Texts): string {
  const pairs = Object.entries(labels).toSorted(([a], [b]) => (a < b ? -1 : 1));
  return `{}:{${pairs.map(([name, value]) => `${name}=${JSON.stringify(value)}`).join(", ")}}`;
}
