import { setImmediate } from "node:timers/promises";
import { sql, type InferResult, type RawBuilder, type Transaction } from "kysely";
import { incidentMessages, noIncidentDetails, type Notification } from "../alerts/notification.ts";
import { severities } from "../alerts/rule.ts";
import { batches } from "../lib/iterables.ts";
import { deleteRows, deleteSome, fillPage, storableText } from "./sql-helpers.ts";
import { createRowReading, oneOf, textIn } from "./row-reading.ts";
import type { Db, Tables } from "./tables.ts";

export const notificationStates = ["pending", "delivered", "dead", "discarded"] as const;
export type NotificationState = (typeof notificationStates)[number];

/** A notification as people look at it. Times are UTC milliseconds. */
export type NotificationRecord = ReturnType<typeof readRecord>;

export interface NotificationQuery {
  /** Default: in any state. */
  readonly states?: readonly NotificationState[];
  readonly receiver?: string;
  readonly limit: number;
  /** Only those with a smaller `seq`: the last one's of the page before. */
  readonly before?: number;
}

/** Which dead notifications: these, or all of one receiver. Others are left as they are. */
export type DeadLetters = { readonly seqs: readonly number[] } | { readonly receiver: string };

/** An attempt to deliver a notification. Reason null: it was delivered. */
export type StoredAttempt = Awaited<ReturnType<typeof readAttempts>>[number];

/** Polls commit between two transactions, or reads, of this many. */
const atOnce = 100;

/** SQLite uses a partial index only where the statement itself holds the value. */
export const pending = sql.lit<"pending">("pending");
const dead = sql.lit<"dead">("dead");

/** Lists notifications, and replays or discards dead letters. */
export function createNotifications(kysely: Db, reader = kysely, reading = createRowReading()) {
  const read = (row: RecordRow): NotificationRecord | null =>
    reading.read("notifications", row, readRecord);

  return {
    /** Newest first. */
    async list({ states, receiver, limit, before }: NotificationQuery) {
      if (states?.length === 0) return [];
      let query = selectRecords(reader);
      if (states !== undefined) query = query.where("state", "in", states);
      if (receiver !== undefined) query = query.where("receiver", "=", receiver);
      return fillPage(
        limit,
        (last: RecordRow | null, most) => {
          const bound = last?.seq ?? before;
          const some = bound === undefined ? query : query.where("seq", "<", bound);
          return some.orderBy("seq", "desc").limit(most).execute();
        },
        read,
      );
    },

    /** Null: there is none, or not any more, or it cannot be read. */
    async find(seq: number): Promise<NotificationRecord | null> {
      const row = await selectRecords(reader).where("seq", "=", seq).executeTakeFirst();
      return row ? read(row) : null;
    },

    /**
     * Makes dead ones pending again; later notifications about their subjects wait for them.
     *
     * @param freshTimes when those of a receiver are due and dead-lettered, by the delivery clock
     * @returns how many
     */
    replay: (
      which: DeadLetters,
      freshTimes: (receiver: string) => {
        readonly nextAttemptAtMs: number;
        readonly giveUpAtMs: number;
      },
    ): Promise<number> =>
      change(kysely, which, async (trx, some) => {
        for (const { seq, receiver } of some) {
          const { nextAttemptAtMs, giveUpAtMs } = freshTimes(receiver);
          const times = { next_attempt_at_ms: nextAttemptAtMs, give_up_at_ms: giveUpAtMs };
          await trx
            .updateTable("notifications")
            .set({ state: "pending", settled_at_ms: null, ...times })
            .where("seq", "=", seq)
            .execute();
        }
        // Only now: each waits for the latest earlier one, also of those that were dead with it.
        for (const { seq } of some) {
          await sql`
            update notifications set waits_for = ${latestBlocker} where seq = ${seq}
          `.execute(trx);
          await holdBackLater(trx, seq);
        }
      }),

    /** @returns how many */
    discard: (which: DeadLetters, atMs: number): Promise<number> =>
      change(kysely, which, async (trx, some) => {
        if (some.length === 0) return;
        await trx
          .updateTable("notifications")
          .set({ state: "discarded", settled_at_ms: atMs })
          .where(
            "seq",
            "in",
            some.map(({ seq }) => seq),
          )
          .execute();
      }),

    /** Oldest first. Of very many, those between the first ten and the last ten are not kept. */
    attempts: (notificationSeqs: readonly number[]) => readAttempts(reader, notificationSeqs),
  };
}

interface DeadRow {
  readonly seq: number;
  readonly receiver: string;
}

/** Each transaction takes the earliest that are left, so that replayed ones are sent in their order. */
async function change(
  kysely: Db,
  which: DeadLetters,
  changeSome: (trx: Transaction<Tables>, some: readonly DeadRow[]) => Promise<void>,
): Promise<number> {
  const seqs = "seqs" in which ? which.seqs.toSorted((a, b) => a - b) : [];
  let [count, after] = [0, 0];
  for (;;) {
    const some = await kysely.transaction().execute(async (trx) => {
      const all = trx
        .selectFrom("notifications")
        .select(["seq", "receiver"])
        .where("state", "=", dead)
        .where("seq", ">", after);
      const meant =
        "seqs" in which
          ? all.where("seq", "in", seqs.splice(0, atOnce))
          : all.where("receiver", "=", which.receiver);
      const rows = await meant.orderBy("seq").limit(atOnce).execute();
      await changeSome(trx, rows);
      return rows;
    });
    count += some.length;
    if ("seqs" in which ? seqs.length === 0 : some.length < atOnce) return count;
    after = some.at(-1)?.seq ?? after;
    await setImmediate();
  }
}

function selectRecords(reader: Db) {
  return reader
    .selectFrom("notifications")
    .select(["seq", "id", "receiver", "state", "attempts", "body"])
    .select(["created_at_ms as createdAtMs", "caused_at_ms as causedAtMs"])
    .select(["last_reason as lastReason", "settled_at_ms as settledAtMs"]);
}

type RecordRow = InferResult<ReturnType<typeof selectRecords>>[number];

function readRecord({ body, ...row }: RecordRow) {
  const { type, rule, severity, summary } = readNotification(body);
  return { ...row, state: oneOf(notificationStates, row.state), type, rule, severity, summary };
}

export function readNotification(body: string): Notification {
  const notification: Notification = JSON.parse(body);
  const { id, receiver, summary, rule } = notification;
  for (const text of [id, receiver, summary, rule]) textIn(text);
  return {
    ...notification,
    type: oneOf([...incidentMessages, "report", "test"], notification.type),
    severity: oneOf(severities, notification.severity),
    runbookUrl: notification.runbookUrl ?? null,
    incidents: notification.incidents.map((incident) => ({ ...noIncidentDetails, ...incident })),
  };
}

/**
 * First in, first out for each receiver and subject, so for each incident too: those that waited for this
 * notification may now be ready, or wait for one that is earlier still. Blockers become fewer, since
 * what is composed later is sent later; only what is replayed becomes one again.
 */
export async function unblockWaiting(trx: Db, seq: number): Promise<void> {
  const unblocked = sql`update notifications set waits_for = ${latestBlocker} where waits_for = ${seq}`;
  await unblocked.execute(trx);
}

/** The notification that the one being updated must wait for. */
const latestBlocker = sql<number | null>`(
  select max(earlier.seq)
  from outbox_items as mine
  join outbox_items as theirs on theirs.subject = mine.subject
  join notifications as earlier
    on earlier.seq = theirs.notification_seq and earlier.state = 'pending'
  where mine.notification_seq = notifications.seq and earlier.seq < notifications.seq
)`;

/**
 * The same of the newest one: subjects, which may be very many, are looked up only where its receiver has another
 * one that is pending. To find that out of an older one may take longer: any number may be pending behind it.
 */
export const latestBlockerOfNewest = sql<number | null>`case when exists (
  select 1 from notifications as other
  where other.receiver = notifications.receiver and other.state = 'pending'
    and other.seq < notifications.seq
) then ${latestBlocker} end`;

/** Later notifications about the subjects of one that is pending again wait for it, unless they wait for a later one. */
async function holdBackLater(trx: Db, seq: number): Promise<void> {
  await sql`
    update notifications set waits_for = ${seq}
    where state = 'pending' and seq > ${seq} and (waits_for is null or waits_for < ${seq})
      and seq in (
        select theirs.notification_seq
        from outbox_items as mine
        join outbox_items as theirs on theirs.subject = mine.subject
        where mine.notification_seq = ${seq}
      )
  `.execute(trx);
}

async function readAttempts(reader: Db, notificationSeqs: readonly number[]) {
  const attempts = [];
  for (const seqs of batches(notificationSeqs, atOnce)) {
    const rows = await reader
      .selectFrom("delivery_attempts")
      .select(["notification_seq as notificationSeq", "at_ms as atMs", "reason", "detail"])
      .where("notification_seq", "in", seqs)
      .orderBy("id")
      .execute();
    attempts.push(...rows);
  }
  return attempts;
}

/** How an attempt to deliver ended. */
export interface Attempt {
  readonly atMs: number;
  readonly failure: { readonly reason: string; readonly detail: string } | null;
  readonly note?: string;
  readonly takenBy?: readonly string[];
}

/** A receiver that is down for weeks is asked thousands of times: the first and the last ten attempts are kept. */
const keptAttempts = 10;

/** @param attempts how many there were, this one included */
export async function writeAttempt(
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

const prunedAtOnce = 50;

/** UTC milliseconds. */
export interface PruneBounds {
  readonly deliveredBeforeMs: number;
  readonly deadBeforeMs: number;
}

/**
 * Deletes notifications that were settled before these moments, with their items and attempts.
 *
 * @returns whether there may be more
 */
export function pruneNotifications(kysely: Db, bounds: PruneBounds): Promise<boolean> {
  return kysely.transaction().execute(async (trx) => {
    const { deliveredBeforeMs, deadBeforeMs } = bounds;
    const { rows } = await sql<{ readonly seq: number }>`
      ${selectSettled(sql`state in ('delivered', 'discarded')`, deliveredBeforeMs)}
      union all ${selectSettled(sql`state = 'dead'`, deadBeforeMs)}
    `.execute(trx);
    if (rows.length === 0) return false;
    const seqs = rows.map(({ seq }) => seq);
    const isItem = sql`notification_seq in (${sql.join(seqs)})`;
    // A notification is deleted with the last of its items.
    if (await deleteSome(trx, "outbox_items", ["seq"], isItem)) return true;
    await deleteNotifications(trx, seqs);
    return true;
  });
}

/** Deletes notifications without items, with their attempts. @returns how many rows */
export async function deleteNotifications(trx: Db, seqs: readonly number[]): Promise<number> {
  const attempts = await deleteRows(trx, "delivery_attempts", "notification_seq", seqs);
  return attempts + (await deleteRows(trx, "notifications", "seq", seqs));
}

function selectSettled(isState: RawBuilder<unknown>, beforeMs: number): RawBuilder<unknown> {
  return sql`select seq from (
    select seq from notifications
    where ${isState} and settled_at_ms < ${beforeMs} and not ${isLastOfOpen}
    order by settled_at_ms limit ${prunedAtOnce}
  ) as done`;
}

/** The last message of an open incident is kept, as receivers of states are sent it repeatedly. */
const isLastOfOpen = sql<boolean>`exists (
  select 1 from outbox_items as item join incidents on incidents.id = item.incident_id
  where item.notification_seq = notifications.seq and incidents.phase <> 'resolved'
    and not exists (
      select 1 from outbox_items as later
      where later.incident_id = item.incident_id and later.receiver = item.receiver
        and later.seq > item.seq
    )
)`;
