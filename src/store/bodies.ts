import { incidentMessages, nothingTold, subjectKinds } from "../core/notification.ts";
import type { noTemplates, Notification, OutboxItem, ToldIncident } from "../core/notification.ts";
import { severities } from "../core/rule.ts";
import { oneOf, textIn } from "./row-reading.ts";
import type { OutboxItemsTable } from "./tables.ts";

type ItemRow = Pick<
  OutboxItemsTable,
  "receiver" | "incident_id" | "type" | "caused_at_ms" | "body"
>;

/** What of an item its row has in columns of its own. */
type InColumns = "receiver" | "type" | "causedAtMs";
type Stored<Facts, Left extends keyof Facts> = Readonly<
  Record<Exclude<keyof Facts, Left>, unknown>
>;

/** As it is written: what is nothing is left out. */
type Written<Facts, Nothing> = Omit<Facts, keyof Nothing> & Partial<Facts>;

/** There may be very many: what is in columns is left out, and what is null. */
export function bodyOfItem({ incident, ...item }: OutboxItem): string {
  // JSON leaves out what is undefined.
  return JSON.stringify({
    rule: item.rule,
    severity: item.severity,
    condition: item.condition,
    summaryTemplate: item.summaryTemplate ?? undefined,
    runbookUrlTemplate: item.runbookUrlTemplate ?? undefined,
    incident: {
      state: incident.state,
      subject: incident.subject,
      region: incident.region ?? undefined,
      key: incident.key ?? undefined,
      sandboxId: incident.sandboxId ?? undefined,
      serverId: incident.serverId ?? undefined,
      serverName: incident.serverName ?? undefined,
      status: incident.status ?? undefined,
      previousStatus: incident.previousStatus ?? undefined,
      startedAtMs: incident.startedAtMs,
      resolvedAtMs: incident.resolvedAtMs ?? undefined,
      resolvedReason: incident.resolvedReason ?? undefined,
      receiver: incident.receiver ?? undefined,
      probe: incident.probe ?? undefined,
      flapping: incident.flapping || undefined,
      acknowledgedBy: incident.acknowledgedBy ?? undefined,
    } satisfies Stored<ToldIncident, "id">,
  } satisfies Stored<OutboxItem, InColumns>);
}

/**
 * The store alone writes bodies. They also lack what the version that stored them did not know of. Field by
 * field: to spread objects over one another takes longer than to parse them, and the type asks for every field.
 *
 * @throws when the row cannot be read
 */
export function readItem({
  receiver,
  incident_id: id,
  type,
  caused_at_ms: causedAtMs,
  body,
}: ItemRow): OutboxItem {
  const item: Written<OutboxItem, typeof noTemplates> = JSON.parse(body);
  const incident: Written<ToldIncident, typeof nothingTold> = item.incident;
  return {
    receiver,
    type: oneOf(incidentMessages, type),
    rule: textIn(item.rule),
    severity: oneOf(severities, item.severity),
    condition: textIn(item.condition),
    summaryTemplate: item.summaryTemplate ?? null,
    runbookUrlTemplate: item.runbookUrlTemplate ?? null,
    incident: {
      id,
      state: incident.state,
      subject: oneOf(subjectKinds, incident.subject),
      region: incident.region ?? null,
      key: incident.key ?? null,
      sandboxId: incident.sandboxId ?? null,
      serverId: incident.serverId ?? null,
      serverName: incident.serverName ?? null,
      status: incident.status ?? null,
      previousStatus: incident.previousStatus ?? null,
      startedAtMs: incident.startedAtMs,
      resolvedAtMs: incident.resolvedAtMs ?? null,
      resolvedReason: incident.resolvedReason ?? null,
      receiver: incident.receiver ?? null,
      probe: incident.probe ?? null,
      flapping: incident.flapping ?? false,
      acknowledgedBy: incident.acknowledgedBy ?? null,
    },
    causedAtMs,
  };
}

/** @throws when the body cannot be read */
export function readNotification(body: string): Notification {
  const notification: Notification = JSON.parse(body);
  const { id, receiver, summary, rule } = notification;
  for (const text of [id, receiver, summary, rule]) textIn(text);
  return {
    ...notification,
    type: oneOf([...incidentMessages, "test"], notification.type),
    severity: oneOf(severities, notification.severity),
    runbookUrl: notification.runbookUrl ?? null,
    incidents: notification.incidents.map((incident) => ({ ...nothingTold, ...incident })),
  };
}
