import { createHash } from "node:crypto";
import { summaryAt } from "../../alerts/notification.ts";
import type { Notification, NotifiedIncident } from "../../alerts/notification.ts";
import { delayedSeconds, incidentLine, isoTime } from "./message-text.ts";
import { shortTexts, stateFields, subjectFields } from "./message-text.ts";
import type { Texts } from "./message-text.ts";

/** Go's zero time: how Alertmanager says that an alert has not ended. */
const noTime = "0001-01-01T00:00:00Z";

const longestValue = 1_000;

/**
 * What identifies an alert: an incident has the same labels as long as it lasts, and so has the next incident of the
 * same rule and subject.
 */
export function alertLabels(rule: string, severity: string, incident: NotifiedIncident) {
  return { alertname: rule, severity, ...subjectFields(incident) };
}

/**
 * The body that Alertmanager sends to webhooks, version 4. sandwatch has no page to link to, so its URLs are empty.
 *
 * @param nowMs when the notification is sent. UTC milliseconds
 */
export function alertmanagerBody(notification: Notification, nowMs: number) {
  const { receiver, rule, severity, group, incidents, truncated } = notification;
  const { incident, ...groupValues } = group;
  const groupLabels = shortTexts({ alertname: rule, ...groupValues }, longestValue);
  const key = { ...groupLabels, severity, ...(incident !== undefined && { incident }) };
  const alerts = incidents.map((each) => webhookAlert(each, notification, nowMs));
  return {
    version: "4",
    groupKey: groupKey(key),
    truncatedAlerts: truncated,
    status: incidents.every(({ state }) => state === "resolved") ? "resolved" : "firing",
    receiver,
    groupLabels,
    commonLabels: inCommon(alerts.map(({ labels }) => labels)),
    commonAnnotations: inCommon(alerts.map(({ annotations }) => annotations)),
    externalURL: "",
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
    generatorURL: "",
    fingerprint: createHash("sha256").update(JSON.stringify(labels)).digest("hex").slice(0, 16),
  };
}

function inCommon([first = {}, ...others]: readonly Texts[]): Texts {
  return Object.fromEntries(
    Object.entries(first).filter(([name, value]) => others.every((other) => other[name] === value)),
  );
}

/** In the form of the key of a group that a route without matchers made. */
function groupKey(labels: Texts): string {
  const pairs = Object.entries(labels).toSorted(([a], [b]) => (a < b ? -1 : 1));
  return `{}:{${pairs.map(([name, value]) => `${name}=${JSON.stringify(value)}`).join(", ")}}`;
}
