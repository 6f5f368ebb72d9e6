import { sql } from "kysely";
import type { NewNotification } from "../alerts/notification.ts";
import { batches, paced } from "../lib/iterables.ts";
import { latestBlockerOfNewest } from "./notifications.ts";
import { prepareUpsert } from "./sql-helpers.ts";
import type { Db } from "./tables.ts";

/** Updating this many items takes about a millisecond. */
const itemsAtOnce = 200;
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
