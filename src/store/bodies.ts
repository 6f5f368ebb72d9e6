import {
  incidentMessages,
  noTemplates,
  noIncidentDetails,
  subjectKinds,
} from "../alerts/notification.ts";
import type { Notification, OutboxItem } from "../alerts/notification.ts";
import { severities } from "../alerts/rule.ts";
import { oneOf, textIn } from "./row-reading.ts";
import type { Tables } from "./tables.ts";

type ItemRow = Pick<
  Tables["outbox_items"],
  "receiver" | "incident_id" | "type" | "caused_at_ms" | "body"
>;

/** What of an item is not in columns of its own, as JSON without what is null or false: there may be very many items. */
export function bodyOfItem(item: OutboxItem): string {
  const { receiver: _, type: _type, causedAtMs: _causedAtMs, incident, ...rest } = item;
  const { id: _id, ...facts } = incident;
  return JSON.stringify({ ...rest, incident: facts }, (_key, value: unknown) =>
    value === null || value === false ? undefined : value,
  );
}

/** @throws when the row cannot be read */
export function readItem(row: ItemRow): OutboxItem {
  const item: OutboxItem = JSON.parse(row.body);
  return {
    ...noTemplates,
    ...item,
    receiver: row.receiver,
    type: oneOf(incidentMessages, row.type),
    causedAtMs: row.caused_at_ms,
    rule: textIn(item.rule),
    severity: oneOf(severities, item.severity),
    condition: textIn(item.condition),
    incident: {
      ...noIncidentDetails,
      ...item.incident,
      id: row.incident_id,
      subject: oneOf(subjectKinds, item.incident.subject),
    },
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
    incidents: notification.incidents.map((incident) => ({ ...noIncidentDetails, ...incident })),
  };
}
