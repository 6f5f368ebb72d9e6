import { createHash } from "node:crypto";
import { causeScope } from "../../alerts/grouping.ts";
import { messageUrl } from "../../alerts/links.ts";
import { incidentKey } from "../../alerts/incident.ts";
import { isSilenced, withLabels } from "../../alerts/notification.ts";
import type { IncidentMessage, Notification, NotifiedIncident } from "../../alerts/notification.ts";
import { summarize } from "../../alerts/notification-summary.ts";
import { namedFacts } from "../../alerts/subjects.ts";
import type { ConfigOf } from "../../config/schema-receivers.ts";
import { readable } from "../../fleet/text.ts";
import type { NotifiedAlert, NotifiedAlerts } from "../../store/receiver-state.ts";
import { parseReceiverUrl, type SenderDeps } from "../outbound.ts";
import { failed, type Receiver, type SendResult } from "../receiver.ts";
import { linksOf } from "./chat-message.ts";
import { commonLabels, delayedSeconds, incidentLine, inCommon, isoTime } from "./message-text.ts";
import { shortTexts, shownSummary, stateFields } from "./message-text.ts";
import { alertItem, withTexts } from "./notified-alerts.ts";

export interface PagerdutyDeps extends SenderDeps {
  readonly notifiedAlerts: NotifiedAlerts;
}

type Action = "trigger" | "acknowledge" | "resolve";

/**
 * The incidents of a rule that probably have one cause are one alert, which is open while any of them fires. Events state
 * what the store contains when they are sent, so that nothing late or repeated undoes what came after it.
 */
export function createPagerdutyReceiver(
  settings: Pick<ConfigOf<"pagerduty">, "name" | "url" | "routingKey">,
  { outbound, clock, externalUrl = null, labelsOf, notifiedAlerts: store }: PagerdutyDeps,
): Receiver {
  const { name, routingKey } = settings;
  const url = parseReceiverUrl(settings);
  const headers = { "content-type": "application/json" };
  let last: Promise<unknown> = Promise.resolve();
  /** Of each alert, the incidents of the last trigger that PagerDuty accepted. */
  const triggered = new Map<string, ReadonlySet<string>>();

  const post = (
    action: Action,
    key: string,
    notification: Notification,
    signal: AbortSignal,
  ): Promise<SendResult> => {
    const labelled = labelsOf ? withLabels(notification, labelsOf) : notification;
    const nowMs = clock.now().utcMs;
    const event = pagerdutyEvent(routingKey.reveal(), action, key, labelled, nowMs, externalUrl);
    return outbound.send({ url, body: JSON.stringify(event), headers }, signal);
  };

  const sendState = async (
    key: string,
    notification: Notification,
    signal: AbortSignal,
  ): Promise<SendResult> => {
    const { type, rule } = notification;
    const known = await store.firingOf(name, rule);
    const nowMs = clock.now().utcMs;
    const firing = known
      .map((alert) => ({ alert, item: alertItem({ ...alert, text: null }, nowMs) }))
      .filter(({ item }) => alertKey(rule, item.incident) === key);
    const isSilence = notification.incidents.every(isSilenced);
    // What fired when it was composed may not any more.
    const { stillFiring: _, ...rest } = notification;
    if (firing.length === 0) {
      triggered.delete(key);
      // The end of what was silenced follows.
      if (type !== "incident.resolved" || isSilence) return { kind: "delivered" };
      return post("resolve", key, rest, signal);
    }
    const alerts = firing.map(({ alert }) => alert);
    const states = firing.map(({ alert, item }) => ({
      isMuted: isSilencedNow(alert),
      isAcknowledged: item.incident.acknowledgedBy !== null,
    }));
    const action = actionOf(type, states);
    if (action === null) return { kind: "delivered" };
    const ids = new Set(alerts.map(({ incident }) => incident.id));
    // Its incidents joined an event that was sent for an earlier notification.
    if (type === "incident.firing" && triggered.get(key)?.isSupersetOf(ids)) {
      return { kind: "delivered" };
    }
    const current = await withTexts(store, name, alerts);
    const now = current.map((alert) => ({ ...alertItem(alert, nowMs), type: typeOf(type) }));
    const incidents = now.map(({ incident }) => incident);
    const summary = summarize(now, nowMs);
    const state = { ...rest, type: typeOf(type), summary, incidents, truncated: 0 };
    const mayFollow = action === "trigger" && type === "incident.firing";
    if (mayFollow && (await followsSilence(store, name, alerts))) {
      // An acknowledged alert pages nobody: it ends, and is opened again.
      const ended = { ...state, summary: `Silence is over, still firing: ${summary}` };
      const result = await post("resolve", key, ended, signal);
      if (result.kind !== "delivered") return result;
    }
    const said = summaryOf(notification, summary);
    const result = await post(action, key, { ...state, summary: said }, signal);
    if (action === "trigger" && result.kind === "delivered") triggered.set(key, ids);
    return result;
  };

  const sendAll = async (notification: Notification, signal: AbortSignal): Promise<SendResult> => {
    const { type, rule, incidents } = notification;
    if (type === "test") {
      const isOver = incidents.every(({ state }) => state === "resolved");
      const key = incidents[0]?.id ?? notification.id;
      return post(isOver ? "resolve" : "trigger", key, notification, signal);
    }
    // One alert, except in notifications that were composed before the receiver became a PagerDuty receiver.
    for (const key of new Set(incidents.map((incident) => alertKey(rule, incident)))) {
      const result = await sendState(key, notification, signal);
      if (result.kind !== "delivered") return result;
    }
    return { kind: "delivered" };
  };

  return {
    name,
    send(notification, signal) {
      // One after the other: a resolve that overtakes a later trigger would close an alert that goes on.
      const sent = last
        .then(() => sendAll(notification, signal))
        .catch(() => failed("network", "the store failed"));
      last = sent;
      return sent;
    },
  };
}

/** Whether a silence ended an earlier incident of each of them, so that the alert is acknowledged. */
async function followsSilence(
  store: NotifiedAlerts,
  receiver: string,
  alerts: readonly NotifiedAlert[],
): Promise<boolean> {
  const ids = alerts.map(({ incident }) => incident.id);
  const sinceMs = Math.min(...alerts.map(({ incident }) => incident.startedAtMs));
  const known = await store.notifiedTo(receiver, sinceMs, ids);
  const silenced = new Set(
    known.flatMap(({ target, incident }) =>
      incident.phase.name === "resolved" && incident.phase.reason === "silenced"
        ? [subjectOfAlert({ target, incident })]
        : [],
    ),
  );
  return alerts.every((alert) => silenced.has(subjectOfAlert(alert)));
}

/** @param current says what fires now */
function summaryOf({ type, summary, incidents }: Notification, current: string): string {
  if (type !== "incident.resolved") return current;
  return incidents.every(isSilenced) ? summary : `Silenced, still firing: ${current}`;
}

function isSilencedNow({ incident: { phase } }: NotifiedAlert): boolean {
  return phase.name === "firing" && phase.notifiedAtMs === null;
}

function subjectOfAlert({ target, incident }: Pick<NotifiedAlert, "target" | "incident">): string {
  const { region, key } = target ?? {};
  return JSON.stringify([region, key, incidentKey(incident.rule, incident.subject)]);
}

/**
 * A resolve of some incidents sends nothing while others fire: a trigger would open the alert again if a person resolved it
 * at PagerDuty, and a recovery must page nobody. A reminder is meant to do that. Where a silence suppresses the others, the
 * alert is acknowledged: it goes on, and pages nobody.
 */
function actionOf(
  type: Notification["type"],
  firing: readonly { readonly isMuted: boolean; readonly isAcknowledged: boolean }[],
): Action | null {
  const isQuiet = firing.every(({ isMuted, isAcknowledged }) => isMuted || isAcknowledged);
  switch (type) {
    case "incident.resolved":
      return isQuiet && firing.some(({ isMuted }) => isMuted) ? "acknowledge" : null;
    case "incident.acknowledged":
      return isQuiet ? "acknowledge" : null;
    default:
      return "trigger";
  }
}

/** What remains after a resolve is firing. */
function typeOf(type: Notification["type"]): IncidentMessage {
  return type === "incident.reminder" ||
    type === "incident.acknowledged" ||
    type === "incident.unacknowledged"
    ? type
    : "incident.firing";
}

/**
 * The `dedup_key` of the alert that an incident belongs to, whatever its severity. Each region that fails is an alert of its
 * own: one that fails later must page, although the alert of the first is acknowledged.
 */
export function alertKey(rule: string, incident: NotifiedIncident): string {
  const scope = incident.subject === "region" ? [incident.region] : causeScope({ incident });
  const group = JSON.stringify([rule, ...scope]);
  return createHash("sha256").update(group).digest("hex");
}

/** The same of what is stored. */
export function keyOfAlert(alert: NotifiedAlert): string {
  const { incident } = alertItem({ ...alert, text: null }, 0);
  return alertKey(alert.incident.rule, incident);
}

/**
 * Of the Events API v2: a summary has at most 1,024 characters, an event 512 KB. The other texts are so short and few that
 * all together never come near that.
 */
const longestSummary = 1_024;
const longestValue = 500;
const mostNamed = 100;

export function pagerdutyEvent(
  routingKey: string,
  action: Action,
  dedupKey: string,
  notification: Notification,
  nowMs: number,
  externalUrl: string | null = null,
) {
  const { rule, severity, incidents, truncated } = notification;
  const links = linksOf(notification, externalUrl);
  const all = inCommon(
    incidents.map((each) =>
      shortTexts(
        {
          subject: each.subject,
          ...namedFacts(each),
          ...stateFields(each),
          ...(each.resolvedAtMs !== null && { resolved_at: isoTime(each.resolvedAtMs) }),
        },
        longestValue,
      ),
    ),
  );
  const labels = commonLabels(notification);
  const place = [all["region"], all["key"]].filter((part) => part !== undefined);
  const ids = [all["sandbox_id"], all["server_id"], all["probe"]].filter((id) => id !== undefined);
  const startedAt = isoTime(Math.min(...incidents.map(({ startedAtMs }) => startedAtMs)));
  const component = all["server_name"] ?? all["probe"] ?? all["receiver"] ?? null;
  return {
    routing_key: routingKey,
    event_action: action,
    dedup_key: dedupKey,
    client: "sandwatch",
    ...(externalUrl !== null && { client_url: messageUrl(externalUrl, notification) }),
    payload: {
      summary: shownSummary(notification, nowMs, longestSummary - 1),
      // PagerDuty rejects an event without a source.
      source: readable([...place, ...ids].join("/"), longestValue) || "sandwatch",
      severity,
      timestamp: startedAt,
      ...shortTexts({ component, group: place.join("/"), class: rule }, longestValue),
      custom_details: {
        rule,
        ...all,
        ...(Object.keys(labels).length > 0 && { labels }),
        started_at: startedAt,
        ...shortTexts(
          { delayed_seconds: delayedSeconds(notification, nowMs)?.toString() ?? null },
          longestValue,
        ),
        count: String(incidents.length + truncated),
        incidents: namedIncidents(incidents, truncated),
      },
    },
    ...(links.length > 0 && { links: links.map(({ text, url }) => ({ href: url, text })) }),
  };
}

function namedIncidents(
  incidents: readonly NotifiedIncident[],
  truncated: number,
): readonly string[] {
  const named = incidents.slice(0, mostNamed);
  const more = incidents.length + truncated - named.length;
  const lines = named.map((incident) => {
    const { id, startedAtMs, resolvedAtMs } = incident;
    const times =
      resolvedAtMs === null || isSilenced(incident)
        ? `since ${isoTime(startedAtMs)}`
        : `from ${isoTime(startedAtMs)} to ${isoTime(resolvedAtMs)}`;
    return readable(`${id}: ${incidentLine(incident)}; ${times}`, longestValue);
  });
  return more === 0 ? lines : [...lines, `and ${more} more`];
}
