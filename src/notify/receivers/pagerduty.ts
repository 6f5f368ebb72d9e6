import type { Notification, NotifiedIncident } from "../../alerts/notification.ts";
import type { ConfigOf } from "../../config/schema-receivers.ts";
import { readable } from "../../fleet/readable-text.ts";
import { parseReceiverUrl, type SenderDeps } from "../outbound.ts";
import type { Receiver } from "../receiver.ts";
import { delayedSeconds, isoTime, runbookLink, shortTexts } from "./message-text.ts";
import { shownSummary, stateFields, subjectFields } from "./message-text.ts";

export function createPagerdutyReceiver(
  settings: Pick<ConfigOf<"pagerduty">, "name" | "url" | "routingKey">,
  { outbound, clock }: SenderDeps,
): Receiver {
  const { name, routingKey } = settings;
  const url = parseReceiverUrl(settings);
  const headers = { "content-type": "application/json" };

  return {
    name,
    keepsAlerts: true,
    async send(notification, signal) {
      const nowMs = clock.now().utcMs;
      // One incident each, except in notifications composed before the receiver became a PagerDuty receiver. An event
      // that arrives twice changes nothing.
      for (const incident of notification.incidents) {
        const event = pagerdutyEvent(routingKey.reveal(), notification, incident, nowMs);
        const result = await outbound.send({ url, body: JSON.stringify(event), headers }, signal);
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
 */
export function pagerdutyEvent(
  routingKey: string,
  notification: Notification,
  incident: NotifiedIncident,
  nowMs: number,
) {
  const { region, key, sandboxId, serverId, serverName, probe, receiver } = incident;
  const { startedAtMs, resolvedAtMs } = incident;
  const link = runbookLink(notification);
  const place = [region, key].filter((part) => part !== null);
  const ids = [sandboxId, serverId, probe].filter((id) => id !== null);
  const optional = {
    component: serverName ?? probe ?? receiver,
    group: place.join("/"),
    class: notification.rule,
  };
  const details = {
    rule: notification.rule,
    ...subjectFields(incident),
    ...stateFields(incident),
    started_at: isoTime(startedAtMs),
    resolved_at: resolvedAtMs === null ? null : isoTime(resolvedAtMs),
    delayed_seconds: delayedSeconds(notification, nowMs)?.toString() ?? null,
  };
  return {
    routing_key: routingKey,
    event_action: actionOf(notification, incident),
    dedup_key: incident.id,
    client: "sandwatch",
    payload: {
      summary: shownSummary(notification, nowMs, longestSummary - 1),
      // PagerDuty rejects an event without a source.
      source: readable([...place, ...ids].join("/"), longestValue) || "sandwatch",
      severity: notification.severity,
      timestamp: isoTime(startedAtMs),
      ...shortTexts(optional, longestValue),
      custom_details: shortTexts(details, longestValue),
    },
    ...(link !== null && { links: [{ href: link, text: "Runbook" }] }),
  };
}

/**
 * A reminder is another trigger: it is added to the open alert, or opens one again that was resolved by hand although the
 * incident continues.
 */
function actionOf({ type }: Notification, { state }: NotifiedIncident) {
  if (state === "resolved" || type === "incident.resolved") return "resolve";
  return type === "incident.acknowledged" ? "acknowledge" : "trigger";
}
