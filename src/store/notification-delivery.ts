import { sql } from "kysely";
import type { IncidentOutcome } from "../alerts/incident-engine.ts";
import type { ReceiverState } from "../alerts/judge-receivers.ts";
import { readReceiver, writeIncidents } from "./incidents.ts";
import { pending, unblockWaiting, latestBlockerOfNewest } from "./notifications.ts";
import { storableText, prepareUpsert } from "./sql-helpers.ts";
import type { RowReading } from "./row-reading.ts";
import type { Db } from "./tables.ts";
import type { NewNotification } from "../alerts/notification.ts";
import { batches, paced } from "../lib/iterables.ts";

/** A count that is out of range could not be incremented. */
const oneMoreAttempt = sql<number>`case when attempts < 1000000000 then attempts + 1 else 1000000000 end`;

export interface Attempt {
  readonly atMs: number;
  readonly failure: { readonly reason: string; readonly detail: string } | null;
  readonly note?: string;
  readonly takenBy?: readonly string[];
}

export interface Settlement {
  readonly state: "delivered" | "dead";
  readonly reason?: string;
  readonly settledAtMs: number;
}

type JudgeReceiver = (state: ReceiverState) => IncidentOutcome;

/** How attempts end. */
export function createDeliveryResults(kysely: Db, reading: RowReading) {
  // The incident must be written in the same transaction as what it is about: a crash between the
  // two would leave a receiver that lost something unreported, or report it twice.
  const judgeReceiver = async (trx: Db, receiver: string, judge: JudgeReceiver) => {
    const outcome = judge(await readReceiver(trx, receiver, reading));
    await writeIncidents(trx, null, outcome);
    return outcome;
  };
  return {
    /**
     * Ends a notification with its last attempt. What that means for the receiver is judged and stored in the same
     * transaction.
     *
     * @returns what was judged; null: the notification was not pending any more
     */
    settle: (
      seq: number,
      { state, reason, settledAtMs }: Settlement,
      attempt: Attempt,
      judge: JudgeReceiver,
    ): Promise<IncidentOutcome | null> =>
      kysely.transaction().execute(async (trx) => {
        const settled = await trx
          .updateTable("notifications")
          .set({
            state,
            attempts: oneMoreAttempt,
            last_reason: reason ?? null,
            settled_at_ms: settledAtMs,
            waits_for: null,
          })
          .where("seq", "=", seq)
          .where("state", "=", pending)
          .returning(["receiver", "attempts"])
          .executeTakeFirst();
        if (!settled) return null;
        await writeAttempt(trx, seq, attempt, settled.attempts);
        await unblockWaiting(trx, seq);
        return judgeReceiver(trx, settled.receiver, judge);
      }),

    retryLater: (seq: number, nextAttemptAtMs: number, attempt: Attempt): Promise<void> =>
      kysely.transaction().execute(async (trx) => {
        const retried = await trx
          .updateTable("notifications")
          .set({
            attempts: oneMoreAttempt,
            last_reason: attempt.failure?.reason ?? null,
            next_attempt_at_ms: nextAttemptAtMs,
            ...(attempt.takenBy && { taken_by: JSON.stringify(attempt.takenBy) }),
          })
          .where("seq", "=", seq)
          .where("state", "=", pending)
          .returning("attempts")
          .executeTakeFirst();
        if (retried) await writeAttempt(trx, seq, attempt, retried.attempts);
      }),
  };
}

/** A receiver that is down for weeks is asked thousands of times: the first and the last ten attempts are kept. */
const keptAttempts = 10;

/** @param attempts how many there were, this one included */
async function writeAttempt(
  trx: Db,
  seq: number,
  { atMs, failure, note }: Attempt,
  attempts: number,
): Promise<void> {
  await trx
    .insertInto("delivery_attempts")
    .values({
      notification_seq: seq,
      at_ms: atMs,
      reason: failure?.reason ?? null,
      detail: storableText(failure?.detail ?? note ?? null),
    })
    .execute();
  if (attempts <= 2 * keptAttempts) return;
  const outermost = (direction: "asc" | "desc") =>
    trx
      .selectFrom("delivery_attempts")
      .select("id")
      .where("notification_seq", "=", seq)
      .orderBy("id", direction)
      .offset(keptAttempts - 1)
      .limit(1);
  await trx
    .deleteFrom("delivery_attempts")
    .where("notification_seq", "=", seq)
    .where("id", ">", outermost("asc"))
    .where("id", "<", outermost("desc"))
    .execute();
}

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
