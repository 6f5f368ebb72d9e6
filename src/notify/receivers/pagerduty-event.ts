import { latenessMs } from "../../core/lateness.ts";
import type { Notification, ToldIncident } from "../../core/notification.ts";
import { readable } from "../../core/readable.ts";
import { runbookLink } from "./runbook-link.ts";
import { isoTime, shortTexts, shownSummary } from "./texts.ts";
import type { Texts } from "./texts.ts";

/**
 * Of the Events API v2: a summary has at most 1,024 characters, an event 512 KB. The other fields
 * are kept so short that all of them together never come near that.
 */
const longestSummary = 1_024;
const longestValue = 500;

type Action = "trigger" | "acknowledge" | "resolve";

/**
 * One incident as an event of PagerDuty's Events API v2. All events of an incident share its id as
 * `dedup_key`, so however often one arrives it makes one alert.
 *
 * @param nowMs when the message is sent. UTC milliseconds
 */
export function renderPagerdutyEvent(
  routingKey: string,
  notification: Notification,
  incident: ToldIncident,
  nowMs: number,
): string {
  const link = runbookLink(notification);
  return JSON.stringify({
    routing_key: routingKey,
    event_action: actionOf(notification, incident),
    dedup_key: incident.id,
    client: "sandwatch",
    payload: {
      summary: shownSummary(notification, nowMs, longestSummary - 1),
      source: sourceOf(incident),
      severity: notification.severity,
      timestamp: isoTime(incident.startedAtMs),
      ...shortTexts(kindOf(notification, incident), longestValue),
      custom_details: detailsOf(notification, incident, nowMs),
    },
    ...(link !== null && { links: [{ href: link, text: "Runbook" }] }),
  });
}

function actionOf({ type }: Notification, incident: ToldIncident): Action {
  if (incident.state === "resolved") return "resolve";
  switch (type) {
    // A reminder is one more trigger: it adds to the alert that is open, or opens one again that
    // somebody resolved by hand though the incident goes on.
    case "incident.firing":
    case "incident.reminder":
    case "test":
      return "trigger";
    case "incident.acknowledged":
      return "acknowledge";
    case "incident.resolved":
      return "resolve";
  }
}

/** Never empty: PagerDuty refuses an event without source. */
function sourceOf(incident: ToldIncident): string {
  const { sandboxId, serverId, probe } = incident;
  const ids = [sandboxId, serverId, probe].filter((id) => id !== null);
  const parts = [...placeOf(incident), ...ids];
  return readable(parts.join("/"), longestValue) || "sandwatch";
}

function placeOf({ region, key }: ToldIncident): readonly string[] {
  return [region, key].filter((part) => part !== null);
}

function kindOf({ rule }: Notification, incident: ToldIncident) {
  return {
    component: incident.serverName ?? incident.probe ?? incident.receiver,
    group: placeOf(incident).join("/"),
    class: rule,
  };
}

function detailsOf(notification: Notification, incident: ToldIncident, nowMs: number): Texts {
  const lateMs = latenessMs(notification, nowMs);
  const values = {
    rule: notification.rule,
    subject: incident.subject,
    region: incident.region,
    key: incident.key,
    sandbox_id: incident.sandboxId,
    server_id: incident.serverId,
    server_name: incident.serverName,
    probe: incident.probe,
    receiver: incident.receiver,
    status: incident.status,
    previous_status: incident.previousStatus,
    started_at: isoTime(incident.startedAtMs),
    resolved_at: incident.resolvedAtMs === null ? null : isoTime(incident.resolvedAtMs),
    resolved_reason: incident.resolvedReason,
    flapping: incident.flapping ? "true" : null,
    acknowledged_by: incident.acknowledgedBy,
    delayed_seconds: lateMs === null ? null : String(Math.round(lateMs / 1_000)),
  };
  return shortTexts(values, longestValue);
}
