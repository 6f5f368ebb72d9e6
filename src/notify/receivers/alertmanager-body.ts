import { createHash } from "node:crypto";
import { latenessMs, summaryAt } from "../../core/lateness.ts";
import type { Notification, ToldIncident } from "../../core/notification.ts";
import { incidentLine } from "./incident-line.ts";
import { isoTime, shortTexts } from "./texts.ts";
import type { Texts } from "./texts.ts";

interface Alert {
  readonly status: "firing" | "resolved";
  readonly labels: Texts;
  readonly annotations: Texts;
  readonly startsAt: string;
  readonly endsAt: string;
  readonly generatorURL: string;
  readonly fingerprint: string;
}

/** What Go writes for no time at all: how Alertmanager says that an alert has not ended. */
const noTime = "0001-01-01T00:00:00Z";

/** Names come from the service and can be anything. */
const longestValue = 1_000;

/**
 * The body that Alertmanager sends to webhooks, version 4 of it. There is no page to link to, so its
 * addresses are empty.
 *
 * @param nowMs when the message is sent. UTC milliseconds
 */
export function renderAlertmanagerBody(notification: Notification, nowMs: number): string {
  const { receiver, rule, severity, group, incidents, truncated } = notification;
  const { incident, ...groupValues } = group;
  const groupLabels = shortTexts({ alertname: rule, ...groupValues }, longestValue);
  const key = { ...groupLabels, severity, ...(incident !== undefined && { incident }) };
  const alerts = incidents.map((each) => toAlert(each, notification, nowMs));
  return JSON.stringify({
    version: "4",
    groupKey: groupKey(key),
    truncatedAlerts: truncated,
    status: incidents.every(isResolved) ? "resolved" : "firing",
    receiver,
    groupLabels,
    commonLabels: inCommon(alerts.map(({ labels }) => labels)),
    commonAnnotations: inCommon(alerts.map(({ annotations }) => annotations)),
    externalURL: "",
    alerts,
  });
}

function isResolved({ state }: ToldIncident): boolean {
  return state === "resolved";
}

function toAlert(incident: ToldIncident, notification: Notification, nowMs: number): Alert {
  const labels = labelsOf(incident, notification);
  return {
    status: incident.state,
    labels,
    annotations: annotationsOf(incident, notification, nowMs),
    startsAt: isoTime(incident.startedAtMs),
    endsAt: incident.resolvedAtMs === null ? noTime : isoTime(incident.resolvedAtMs),
    generatorURL: "",
    fingerprint: fingerprint(labels),
  };
}

/** What stays the same while an incident lasts: the next one of the same subject is the same alert. */
function labelsOf(incident: ToldIncident, { rule, severity }: Notification): Texts {
  const values = {
    alertname: rule,
    severity,
    subject: incident.subject,
    region: incident.region,
    key: incident.key,
    sandbox_id: incident.sandboxId,
    server_id: incident.serverId,
    server_name: incident.serverName,
    probe: incident.probe,
    receiver: incident.receiver,
  };
  return shortTexts(values, longestValue);
}

function annotationsOf(incident: ToldIncident, notification: Notification, nowMs: number): Texts {
  const lateMs = latenessMs(notification, nowMs);
  const values = {
    summary: summaryAt(notification, nowMs),
    description: incidentLine(incident),
    runbook_url: notification.runbookUrl,
    incident_id: incident.id,
    status: incident.status,
    previous_status: incident.previousStatus,
    acknowledged_by: incident.acknowledgedBy,
    flapping: incident.flapping ? "true" : null,
    resolved_reason: incident.resolvedReason,
    delayed_seconds: lateMs === null ? null : String(Math.round(lateMs / 1_000)),
  };
  return shortTexts(values, longestValue);
}

function inCommon([first = {}, ...others]: readonly Texts[]): Texts {
  return Object.fromEntries(
    Object.entries(first).filter(([name, value]) => others.every((other) => other[name] === value)),
  );
}

/** As Alertmanager writes the key of a group that a route without matchers made. */
function groupKey(labels: Texts): string {
  const pairs = Object.entries(labels).toSorted(([a], [b]) => (a < b ? -1 : 1));
  return `{}:{${pairs.map(([name, value]) => `${name}=${JSON.stringify(value)}`).join(", ")}}`;
}

/** Sixteen hexadecimal digits, alike for alerts with the same labels. */
function fingerprint(labels: Texts): string {
  return createHash("sha256").update(JSON.stringify(labels)).digest("hex").slice(0, 16);
}
