import type { PagerdutyConfig } from "../../config/receivers/pagerduty.ts";
import type { Notification, NotifiedIncident } from "../../alerts/notification.ts";
import { readable } from "../../fleet/readable.ts";
import { parseReceiverUrl } from "../outbound.ts";
import type { SenderDeps } from "../outbound.ts";
import type { Receiver } from "../receiver.ts";
import { delayedSeconds, isoTime, runbookLink, shortTexts } from "./message-text.ts";
import { shownSummary, stateFields, subjectFields } from "./message-text.ts";
import type { Texts } from "./message-text.ts";

/**
 * Sends each incident as an event of PagerDuty's Events API v2.
 *
 * @throws {Error} when the URL cannot be used; the error does not contain it
 */
export function createPagerdutyReceiver(
  settings: Pick<PagerdutyConfig, "name" | "url" | "routingKey">,
  { outbound, clock }: SenderDeps,
): Receiver {
  const url = parseReceiverUrl(settings);
  const headers = { "content-type": "application/json" };

  return {
    name: settings.name,
    keepsAlerts: true,
    async send(notification, signal) {
      const nowMs = clock.now().utcMs;
      // One incident each, except in notifications composed before the receiver became a PagerDuty receiver. An event
      // that arrives twice changes nothing.
      for (const incident of notification.incidents) {
        const body = renderPagerdutyEvent(
          settings.routingKey.reveal(),
          notification,
          incident,
          nowMs,
        );
        const result = await outbound.send({ url, body, headers }, signal);
        if (result.kind !== "delivered") return result;
      }
      return { kind: "delivered" };
    },
  };
}

/**
 * Of the Events API v2: a summary has at most 1,024 characters, an event 512 KB. The other fields are so short that all
 * together never come near that.
 */
const longestSummary = 1_024;
const longestValue = 500;

/**
 * One incident as an event. All events of an incident have its id as `dedup_key`, so however often one arrives it makes
 * one alert.
 *
 * @param nowMs when the notification is sent. UTC milliseconds
 */
export function renderPagerdutyEvent(
  routingKey: string,
  notification: Notification,
  incident: NotifiedIncident,
  nowMs: number,
): string {
  const link = runbookLink(notification);
  const place = [incident.region, incident.key].filter((part) => part !== null);
  const ids = [incident.sandboxId, incident.serverId, incident.probe].filter((id) => id !== null);
  const optional = {
    component: incident.serverName ?? incident.probe ?? incident.receiver,
    group: place.join("/"),
    class: notification.rule,
  };
  return JSON.stringify({
    routing_key: routingKey,
    event_action: actionOf(notification, incident),
    dedup_key: incident.id,
    client: "sandwatch",
    payload: {
      summary: shownSummary(notification, nowMs, longestSummary - 1),
      // PagerDuty rejects an event without a source.
      source: readable([...place, ...ids].join("/"), longestValue) || "sandwatch",
      severity: notification.severity,
      timestamp: isoTime(incident.startedAtMs),
      ...shortTexts(optional, longestValue),
      custom_details: detailsOf(notification, incident, nowMs),
    },
    ...(link !== null && { links: [{ href: link, text: "Runbook" }] }),
  });
}

function actionOf(
  { type }: Notification,
  incident: NotifiedIncident,
): "trigger" | "acknowledge" | "resolve" {
  if (incident.state === "resolved") return "resolve";
  switch (type) {
    // A reminder is another trigger: it is added to the open alert, or opens one again that
    // somebody resolved by hand although the incident continues.
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

function detailsOf(notification: Notification, incident: NotifiedIncident, nowMs: number): Texts {
  const values = {
    rule: notification.rule,
    ...subjectFields(incident),
    ...stateFields(incident),
    started_at: isoTime(incident.startedAtMs),
    resolved_at: incident.resolvedAtMs === null ? null : isoTime(incident.resolvedAtMs),
    delayed_seconds: delayedSeconds(notification, nowMs)?.toString() ?? null,
  };
  return shortTexts(values, longestValue);
}
