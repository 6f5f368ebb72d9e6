import { setImmediate } from "node:timers/promises";
import { sql, type Kysely, type RawBuilder } from "kysely";
import type { Notification, StoredOutboxItem } from "../alerts/notification.ts";
import { batches, paced } from "../lib/paced.ts";
import { readItem, readNotification } from "./bodies.ts";
import { selectFigures, type OutboxFigures } from "./outbox-figures.ts";
import { prepareUpsert } from "./prepared.ts";
import { createRowReading } from "./row-reading.ts";
import { createSettlements } from "./settlements.ts";
import type { Tables } from "./tables.ts";
import { latestBlockerOfNewest } from "./notification-order.ts";

export { insertOutboxItems } from "./outbox-items.ts";

/** As many items are read or written in about a millisecond. */
const itemsAtOnce = 200;

/** SQLite uses a partial index only where the statement itself holds the value. */
const pending = sql.lit<"pending">("pending");

/** A notification to be stored; the delivery loop declares it. */
export interface NewNotificationRow {
  readonly notification: Notification;
  readonly itemSeqs: readonly number[];
  readonly groupNames: readonly string[];
  readonly nextAttemptAtMs: number;
  readonly giveUpAtMs: number;
}

export interface PendingNotificationRow {
  readonly seq: number;
  /** Null: it cannot be read. */
  readonly notification: Notification | null;
  readonly attempts: number;
  readonly giveUpAtMs: number;
}

/**
 * The store's side of delivery: everything that `createDeliveryLoop` needs of an outbox, with the
 * meaning described there. `figures` is for the metrics.
 */
export function createOutbox(
  kysely: Kysely<Tables>,
  glance = kysely,
  reading = createRowReading(),
) {
  return {
    ...createSettlements(kysely, reading),

    async openItems(
      receiver: string,
      limit: number,
      onUnreadable: (seq: number) => void = () => {},
    ): Promise<readonly StoredOutboxItem[]> {
      const items: StoredOutboxItem[] = [];
      let lastSeq = 0;
      for (;;) {
        const most = Math.min(itemsAtOnce, limit - items.length);
        const rows = await kysely
          .selectFrom("outbox_items")
          .select(["seq", "receiver", "incident_id", "type", "caused_at_ms", "body"])
          .where("receiver", "=", receiver)
          .where("notification_seq", "is", null)
          .where("seq", ">", lastSeq)
          .orderBy("seq")
          .limit(most)
          .execute();
        for (const row of rows) {
          const item = reading.read("outbox_items", row.seq, row, readItem);
          if (item) items.push({ ...item, seq: row.seq });
          else onUnreadable(row.seq);
          lastSeq = row.seq;
        }
        if (rows.length < most || items.length >= limit) return items;
        await setImmediate();
      }
    },

    async groupTimes(receiver: string, sinceMs: number): Promise<ReadonlyMap<string, number>> {
      const rows = await kysely
        .selectFrom("group_times")
        .select(["group_name", "notified_at_ms"])
        .where("receiver", "=", receiver)
        .where("notified_at_ms", ">=", sinceMs)
        .execute();
      return new Map(rows.map((row) => [row.group_name, row.notified_at_ms]));
    },

    async compose(notifications: readonly NewNotificationRow[]): Promise<void> {
      if (notifications.length === 0) return;
      await kysely.transaction().execute(async (db) => {
        for (const notification of notifications) await insertNotification(db, notification);
      });
    },

    async due(
      receiver: string,
      nowMs: number,
      limit: number,
      inFlight: readonly number[],
    ): Promise<readonly PendingNotificationRow[]> {
      const rows = await selectReady(kysely, receiver, inFlight)
        .select(["seq", "body", "attempts", "give_up_at_ms"])
        .where("next_attempt_at_ms", "<=", nowMs)
        .orderBy("next_attempt_at_ms")
        .orderBy("seq")
        .limit(limit)
        .execute();
      return rows.map((row) => ({
        seq: row.seq,
        notification: reading.read("notifications", row.seq, row, ({ body }) =>
          readNotification(body),
        ),
        attempts: row.attempts,
        giveUpAtMs: row.give_up_at_ms,
      }));
    },

    async nextAttemptAtMs(receiver: string, inFlight: readonly number[]): Promise<number | null> {
      const row = await selectReady(kysely, receiver, inFlight)
        .select("next_attempt_at_ms")
        .orderBy("next_attempt_at_ms")
        .limit(1)
        .executeTakeFirst();
      return row?.next_attempt_at_ms ?? null;
    },

    async boundTimes(
      receiver: string,
      bounds: {
        readonly nowMs: number;
        readonly latestNextAttemptAtMs: number;
        readonly earliestGiveUpAtMs: number;
        readonly latestGiveUpAtMs: number;
      },
    ): Promise<void> {
      const { nowMs, latestNextAttemptAtMs: latestMs } = bounds;
      const nextMs = sql.ref("next_attempt_at_ms");
      // What was overdue is given as much longer to be delivered.
      const giveUpMs = sql`give_up_at_ms + ${atLeast(sql`${nowMs} - ${nextMs}`, 0)}`;
      const { earliestGiveUpAtMs, latestGiveUpAtMs } = bounds;
      await sql`
        update notifications set
          next_attempt_at_ms = ${atMost(atLeast(nextMs, nowMs), latestMs)},
          give_up_at_ms = ${atMost(atLeast(giveUpMs, earliestGiveUpAtMs), latestGiveUpAtMs)}
        where receiver = ${receiver} and state = 'pending' and (
          next_attempt_at_ms not between ${nowMs} and ${latestMs}
          or give_up_at_ms not between ${earliestGiveUpAtMs} and ${latestGiveUpAtMs}
        )
      `.execute(kysely);
    },

    async discardResolves(receiver: string): Promise<void> {
      await kysely
        .deleteFrom("outbox_items")
        .where("receiver", "=", receiver)
        .where("type", "=", "incident.resolved")
        .where("notification_seq", "is", null)
        .execute();
    },

    figures: (): Promise<readonly OutboxFigures[]> => selectFigures(glance),
  };
}

function atLeast(value: RawBuilder<unknown>, bound: number): RawBuilder<unknown> {
  return sql`(case when ${value} < ${bound} then ${bound} else ${value} end)`;
}

function atMost(value: RawBuilder<unknown>, bound: number): RawBuilder<unknown> {
  return sql`(case when ${value} > ${bound} then ${bound} else ${value} end)`;
}

/** Pending, and waiting for no earlier notification: straight from the index that holds just these. */
function selectReady(kysely: Kysely<Tables>, receiver: string, inFlight: readonly number[]) {
  const ready = kysely
    .selectFrom("notifications")
    .where("receiver", "=", receiver)
    .where("state", "=", pending)
    .where("waits_for", "is", null);
  return inFlight.length === 0 ? ready : ready.where("seq", "not in", inFlight);
}

async function insertNotification(
  db: Kysely<Tables>,
  { notification, itemSeqs, groupNames, nextAttemptAtMs, giveUpAtMs }: NewNotificationRow,
): Promise<void> {
  const { seq } = await db
    .insertInto("notifications")
    .values({
      id: notification.id,
      receiver: notification.receiver,
      state: "pending",
      created_at_ms: notification.createdAtMs,
      caused_at_ms: notification.causedAtMs,
      attempts: 0,
      next_attempt_at_ms: nextAttemptAtMs,
      give_up_at_ms: giveUpAtMs,
      waits_for: null,
      last_reason: null,
      settled_at_ms: null,
      body: JSON.stringify(notification),
    })
    .returning("seq")
    .executeTakeFirstOrThrow();
  for await (const seqs of paced(batches(itemSeqs, itemsAtOnce))) {
    await db
      .updateTable("outbox_items")
      .set({ notification_seq: seq })
      .where("seq", "in", seqs)
      .execute();
  }
  await sql`
    update notifications set waits_for = ${latestBlockerOfNewest} where seq = ${seq}
  `.execute(db);
  await writeGroupTimes(db, notification, groupNames);
}

const dayMs = 24 * 60 * 60 * 1_000;

const upsertGroupTimes = prepareUpsert("group_times", ["receiver", "group_name"]);

/** Times of groups that were not notified for a day are deleted: no interval is as long as that. */
async function writeGroupTimes(
  db: Kysely<Tables>,
  { receiver, createdAtMs }: Notification,
  groupNames: readonly string[],
): Promise<void> {
  if (groupNames.length === 0) return;
  await upsertGroupTimes(
    db,
    groupNames.map((name) => ({ receiver, group_name: name, notified_at_ms: createdAtMs })),
  );
  await db
    .deleteFrom("group_times")
    .where("receiver", "=", receiver)
    .where("notified_at_ms", "<", createdAtMs - dayMs)
    .execute();
}
