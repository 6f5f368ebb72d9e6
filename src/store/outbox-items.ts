import { hash } from "node:crypto";
import { setImmediate } from "node:timers/promises";
import { sql, type Selectable } from "kysely";
import { subjectKey } from "../alerts/grouping.ts";
import {
  incidentMessages,
  noIncidentDetails,
  plainText,
  type OutboxItem,
  type StoredOutboxItem,
  type NewNotification,
} from "../alerts/notification.ts";
import { severities } from "../alerts/rule.ts";
import { subjectKinds } from "../alerts/subjects.ts";
import { batches, paced } from "../lib/iterables.ts";
import { latestBlockerOfNewest } from "./notifications.ts";
import { oneOf, textIn, type RowReading } from "./row-reading.ts";
import { deleteSome, prepareRows, prepareUpsert, rowsPerInsert } from "./sql-helpers.ts";
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

/** Reading or updating this many items takes about a millisecond. */
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
      const item = reading.read("outbox_items", row, readItem);
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

const dayMs = 24 * 60 * 60 * 1_000;

const upsertGroupTimes = prepareUpsert("group_times", ["receiver", "group_name"]);

/** In few statements for all: on PostgreSQL each takes its time, and others wait for the transaction. */
export async function insertNotifications(trx: Db, all: readonly NewNotification[]): Promise<void> {
  const rows = all.map(({ notification, nextAttemptAtMs, giveUpAtMs }) => ({
    id: notification.id,
    receiver: notification.receiver,
    state: "pending" as const,
    created_at_ms: notification.createdAtMs,
    caused_at_ms: notification.causedAtMs,
    attempts: 0,
    next_attempt_at_ms: nextAttemptAtMs,
    give_up_at_ms: giveUpAtMs,
    body: JSON.stringify(notification),
  }));
  if (rows.length === 0) return;
  const inserted = await trx
    .insertInto("notifications")
    .values(rows)
    .returning(["seq", "id"])
    .execute();
  const seqOf = new Map(inserted.map(({ id, seq }) => [id, seq]));
  for (const { notification, itemSeqs } of all) {
    await takeItems(trx, notification.id, seqOf.get(notification.id) ?? 0, itemSeqs);
  }
  await sql`
    update notifications set waits_for = ${latestBlockerOfNewest}
    where seq in (${sql.join([...seqOf.values()])})
  `.execute(trx);
  await noteGroupTimes(trx, all);
}

/** A message about an incident: an item of the outbox. Times are UTC milliseconds. */
export type StoredNotificationItem = Awaited<ReturnType<typeof readAbout>>[number];

/** Each with the notification that it is part of. */
export async function readAbout(reader: Db, reading: RowReading, incidentIds: readonly string[]) {
  const items = [];
  for (const ids of batches(incidentIds, itemsAtOnce)) {
    const rows = await reader
      .selectFrom("outbox_items")
      .leftJoin("notifications", "notifications.seq", "outbox_items.notification_seq")
      .select(["outbox_items.seq", "outbox_items.receiver", "outbox_items.type"])
      .select(["incident_id as incidentId", "outbox_items.caused_at_ms as causedAtMs"])
      .select(["notification_seq as notificationSeq", "id", "state"])
      .select(["last_reason as lastReason", "settled_at_ms as settledAtMs"])
      .where("incident_id", "in", ids)
      .execute();
    items.push(
      ...reading.all(
        "outbox_items",
        rows,
        ({ notificationSeq: seq, id, state, lastReason, settledAtMs, ...item }) => ({
          ...item,
          type: oneOf(incidentMessages, item.type),
          /** Null: it is in none yet. */
          notification:
            seq === null || id === null || state === null
              ? null
              : { seq, id, state, lastReason, settledAtMs },
        }),
      ),
    );
  }
  return items.toSorted((a, b) => a.seq - b.seq);
}

/** Whose notification these items are. */
async function takeItems(
  trx: Db,
  id: string,
  notificationSeq: number,
  itemSeqs: readonly number[],
): Promise<void> {
  for await (const seqs of paced(batches(itemSeqs, itemsAtOnce))) {
    const { numUpdatedRows } = await trx
      .updateTable("outbox_items")
      .set({ notification_seq: notificationSeq })
      .where("seq", "in", seqs)
      .where("notification_seq", "is", null)
      .executeTakeFirstOrThrow();
    if (numUpdatedRows !== BigInt(seqs.length)) {
      throw new Error(`some items of the notification ${id} are in another one, or gone`);
    }
  }
}

async function noteGroupTimes(trx: Db, all: readonly NewNotification[]): Promise<void> {
  const last = new Map(
    all.flatMap(({ notification: { receiver, createdAtMs }, groupNames }) =>
      groupNames.map((name) => [
        `${receiver} ${name}`,
        { receiver, group_name: name, notified_at_ms: createdAtMs },
      ]),
    ),
  );
  if (last.size === 0) return;
  await upsertGroupTimes(trx, last.values());
  const newest = new Map(
    Array.from(last.values(), (row) => [row.receiver, row.notified_at_ms] as const),
  );
  for (const [receiver, notifiedAtMs] of newest) {
    // No group interval is as long as a day.
    await trx
      .deleteFrom("group_times")
      .where("receiver", "=", receiver)
      .where("notified_at_ms", "<", notifiedAtMs - dayMs)
      .execute();
  }
}

export async function readGroupTimes(
  kysely: Db,
  receiver: string,
  sinceMs: number,
): Promise<ReadonlyMap<string, number>> {
  const rows = await kysely
    .selectFrom("group_times")
    .select(["group_name", "notified_at_ms"])
    .where("receiver", "=", receiver)
    .where("notified_at_ms", ">=", sinceMs)
    .execute();
  return new Map(rows.map((row) => [row.group_name, row.notified_at_ms]));
}

/**
 * Deletes items for other receivers than these that were caused before.
 *
 * @returns whether there may be more
 */
export function pruneOwedItems(
  kysely: Db,
  beforeMs: number,
  configured: readonly string[],
): Promise<boolean> {
  const isOther =
    configured.length === 0 ? sql`true` : sql`receiver not in (${sql.join(configured)})`;
  const isOwed = sql`notification_seq is null and caused_at_ms < ${beforeMs} and ${isOther}`;
  return deleteSome(kysely, "outbox_items", ["seq"], isOwed);
}
