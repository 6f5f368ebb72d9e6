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
import {
  inCommon,
  isoTime,
  runbookFor,
  shortTexts,
  stateFields,
  type Texts,
} from "./message-text.ts";

export type WebhookSettings = Pick<
  ConfigOf<"webhook">,
  "name" | "url" | "secret" | "headers" | "format" | "bodyTemplate"
>;

/** Posts notifications as Standard Webhooks, in any of the formats that a body can have. */
export function createWebhookReceiver(
  settings: WebhookSettings,
  { outbound, clock, externalUrl = null }: SenderDeps,
): Receiver {
  const { name, headers: secretHeaders } = settings;
  const url = parseReceiverUrl(settings);
  const signer = createSigner(settings);
  const bodyOf = createBody(settings);

  return {
    name,
    async send(notification, signal) {
      const { id } = notification;
      const nowMs = clock.now().utcMs;
      const { body, isReplaced } = bodyOf(notification, nowMs, externalUrl);
      if (body.length > longestBody) return failed("rejected", "the body is longer than 1 MiB");
      const headers = {
        "content-type": "application/json",
        "webhook-id": id,
        "webhook-timestamp": String(Math.floor(nowMs / 1_000)),
        ...(signer && { "webhook-signature": signer.sign(id, new Date(nowMs), body) }),
      };
      const result = await outbound.send({ url, body, headers, secretHeaders }, signal);
      return isReplaced && result.kind === "delivered" ? { ...result, note: replacedNote } : result;
    },
  };
}

const replacedNote =
  "a template of the body exceeded its limits: the summary was sent in place of its text";
const longestBody = 1024 * 1024;
/** Of a text in a body that is too long. */
const longestText = 10_000;

type BodyOf = (...from: Parameters<typeof webhookBody>) => {
  readonly body: string;
  readonly isReplaced: boolean;
};

function createBody({ format, bodyTemplate }: WebhookSettings): BodyOf {
  if (!bodyTemplate) {
    const write = format === "alertmanager" ? alertmanagerBody : webhookBody;
    return (...from) => ({ body: JSON.stringify(write(...from)), isReplaced: false });
  }
  const template: Json = JSON.parse(bodyTemplate.reveal());
  const fill = compileBody(template);
  return (notification, nowMs, externalUrl) => {
    const filled = (longest?: number) => {
      const { body, isReplaced } = fill(notification, nowMs, externalUrl, longest);
      return { body: JSON.stringify(body), isReplaced };
    };
    const whole = filled();
    return whole.body.length <= longestBody ? whole : filled(longestText);
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

/** The body in the format of Standard Webhooks: `type`, `timestamp`, `data`. */
export function webhookBody(
  notification: Notification,
  nowMs: number,
  externalUrl: string | null = null,
) {
  const { type, createdAtMs, rule, severity, group, incidents } = notification;
  const { truncated, stillFiring, report } = notification;
  const runbook = runbookFor(notification, externalUrl);
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
      ...(runbook !== null && { runbook_url: runbook }),
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
    ...webhookAlert(each, notification, nowMs, runbookFor(notification, externalUrl)),
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
    notification_reason: notificationReason(notification),
    alerts,
  };
}

/** As `NotifyReason` of Alertmanager (notify/notify.go, since 0.32) says it. Nothing there is about acknowledgements. */
function notificationReason({ type, incidents, stillFiring }: Notification): string {
  switch (type) {
    case "incident.firing":
      return "first notification";
    case "incident.reminder":
      return "repeat interval elapsed";
    case "incident.resolved":
      return stillFiring === undefined ? "all alerts resolved" : "some alerts resolved";
    case "test":
      return incidents.every(({ state }) => state === "resolved")
        ? "all alerts resolved"
        : "first notification";
    default:
      return "unknown";
  }
}

function webhookAlert(
  incident: NotifiedIncident,
  notification: Notification,
  nowMs: number,
  runbook: string | null,
) {
  const { rule, severity } = notification;
  const labels = shortTexts(alertLabels(rule, severity, incident), longestValue);
  const annotations = {
    summary: summaryAt(notification, nowMs),
    description: incidentLine(incident),
    runbook_url: runbook,
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
