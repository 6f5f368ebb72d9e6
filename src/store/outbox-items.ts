import { hash } from "node:crypto";
import type { Selectable } from "kysely";
import { subjectKey } from "../alerts/grouping.ts";
import { incidentMessages, noIncidentDetails, plainText } from "../alerts/notification.ts";
import type { OutboxItem } from "../alerts/notification.ts";
import { severities } from "../alerts/rule.ts";
import { subjectKinds } from "../alerts/subjects.ts";
import { batches, paced } from "../lib/iterables.ts";
import { prepareRows, rowsPerInsert } from "./sql-helpers.ts";
import { oneOf, textIn } from "./row-reading.ts";
import type { Db, Tables } from "./tables.ts";

const insertRows = prepareRows((db, rows: readonly ReturnType<typeof itemToRow>[]) =>
  db.insertInto("outbox_items").values(rows),
);

/** To be called within the transaction of the change that causes the items, never outside it. */
export async function insertOutboxItems(db: Db, items: readonly OutboxItem[]): Promise<void> {
  for await (const some of paced(batches(items, rowsPerInsert))) {
    await insertRows(db, some.map(itemToRow));
  }
}

function itemToRow(item: OutboxItem) {
  const { receiver, type, causedAtMs, incident, ...rest } = item;
  const { id, ...facts } = incident;
  return {
    receiver,
    incident_id: id,
    subject: subjectDigest(receiver, subjectKey(item)),
    type,
    // Without what is null or false: there may be very many items.
    body: JSON.stringify({ ...rest, incident: facts }, (_key, value: unknown) =>
      value === null || value === false ? undefined : value,
    ),
    caused_at_ms: causedAtMs,
    notification_seq: null,
  };
}

/**
 * Items with the same digest keep their order. It is short, as it is in an index. Should two subjects of a receiver ever
 * have the same, notifications about one would wait for those about the other.
 */
function subjectDigest(receiver: string, subject: string): string {
  return hash("sha256", JSON.stringify([receiver, subject]), "base64url").slice(0, 12);
}

export const itemColumns = [
  "seq",
  "receiver",
  "incident_id",
  "type",
  "caused_at_ms",
  "body",
] as const;

export function readItem(
  row: Pick<Selectable<Tables["outbox_items"]>, (typeof itemColumns)[number]>,
): OutboxItem {
  const item: OutboxItem = JSON.parse(row.body);
  return {
    ...plainText,
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
