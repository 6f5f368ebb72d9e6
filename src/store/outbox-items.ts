import { hash } from "node:crypto";
import { setImmediate } from "node:timers/promises";
import { sql, type Selectable } from "kysely";
import { subjectKey } from "../alerts/grouping.ts";
import { incidentMessages, noIncidentDetails, plainText } from "../alerts/notification.ts";
import type { OutboxItem, StoredOutboxItem } from "../alerts/notification.ts";
import { severities } from "../alerts/rule.ts";
import { subjectKinds } from "../alerts/subjects.ts";
import { batches, paced } from "../lib/iterables.ts";
import { prepareRows, rowsPerInsert } from "./sql-helpers.ts";
import { oneOf, textIn, type RowReading } from "./row-reading.ts";
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

const itemColumns = ["seq", "receiver", "incident_id", "type", "caused_at_ms", "body"] as const;

function readItem(
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

/** Reading this many items takes about a millisecond. */
const itemsAtOnce = 200;

export async function readOpenItems(
  kysely: Db,
  reading: RowReading,
  receiver: string,
  limit: number,
  onHeld: () => void = () => {},
): Promise<readonly StoredOutboxItem[]> {
  const items: StoredOutboxItem[] = [];
  let lastSeq = 0;
  for (;;) {
    const most = Math.min(itemsAtOnce, limit - items.length);
    const rows = await kysely
      .selectFrom("outbox_items")
      .select(itemColumns)
      .select(isHeld)
      .where("receiver", "=", receiver)
      .where("notification_seq", "is", null)
      .where("seq", ">", lastSeq)
      .orderBy("seq")
      .limit(most)
      .execute();
    for (const row of rows) {
      lastSeq = row.seq;
      if (row.held === 1) {
        onHeld();
        continue;
      }
      const item = reading.read("outbox_items", row.seq, row, readItem);
      if (item) items.push({ ...item, seq: row.seq });
      else await composeAlone(kysely, row);
    }
    if (rows.length < most || items.length >= limit) return items;
    await setImmediate();
  }
}

/** Whether a notification about the subject of an open item is pending: the item says how things are once that has ended. */
const isHeld = sql<number>`case when exists (
  select 1 from notifications as other
  where other.receiver = outbox_items.receiver and other.state = 'pending'
) and exists (
  select 1 from outbox_items as theirs
  join notifications as earlier on earlier.seq = theirs.notification_seq
  where theirs.subject = outbox_items.subject and earlier.state = 'pending'
) then 1 else 0 end`.as("held");

/** An item that cannot be read becomes a notification that cannot be read either, due at once: a dead letter. */
async function composeAlone(
  kysely: Db,
  {
    seq: itemSeq,
    receiver,
    caused_at_ms,
  }: Pick<Selectable<Tables["outbox_items"]>, "seq" | "receiver" | "caused_at_ms">,
): Promise<void> {
  await kysely.transaction().execute(async (trx) => {
    const { seq } = await trx
      .insertInto("notifications")
      .values({
        id: `msg_unreadable_${itemSeq}`,
        receiver,
        state: "pending",
        created_at_ms: caused_at_ms,
        caused_at_ms,
        attempts: 0,
        next_attempt_at_ms: 0,
        give_up_at_ms: 0,
        body: "",
      })
      .returning("seq")
      .executeTakeFirstOrThrow();
    await trx
      .updateTable("outbox_items")
      .set({ notification_seq: seq })
      .where("seq", "=", itemSeq)
      .execute();
  });
}
