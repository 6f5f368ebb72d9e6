import { sql, type RawBuilder } from "kysely";
import type { IncidentOutcome } from "../alerts/incident-engine.ts";
import type { ReceiverState } from "../alerts/judge-receivers.ts";
import { groupFields } from "../alerts/notification.ts";
import type { GroupField, NewNotification, Notification } from "../alerts/notification.ts";
import { readReceiver, writeIncidents } from "./incidents.ts";
import { pending, readNotification, unblockWaiting, writeAttempt } from "./notifications.ts";
import type { Attempt } from "./notifications.ts";
import { insertNotifications, readAbout, readGroupTimes, readOpenItems } from "./outbox-items.ts";
import { readFigures, readUndelivered, readWaiting } from "./outbox-figures.ts";
import { createRowReading, listIn, textIn, type RowReading } from "./row-reading.ts";
import type { Db } from "./tables.ts";

export type Outbox = ReturnType<typeof createOutbox>;

/** A stored notification that is neither delivered nor dead-lettered. */
export interface ReadyNotification {
  readonly seq: number;
  /** Null: its row cannot be read, so it is a dead letter. */
  readonly notification: Notification | null;
  readonly attempts: number;
  /** The recipients of its receiver that have it or refused it for good, where there are several. */
  readonly takenBy: readonly string[];
  /** Milliseconds of the delivery clock. */
  readonly nextAttemptAtMs: number;
  /** An attempt that fails from then on is the last. */
  readonly giveUpAtMs: number;
}

/** Limits for the times of pending notifications, in milliseconds of the delivery clock. */
export interface TimeBounds {
  readonly nowMs: number;
  readonly latestNextAttemptAtMs: number;
  readonly earliestGiveUpAtMs: number;
  readonly latestGiveUpAtMs: number;
}

/** What delivery needs of the store. Each call is one transaction, and rejects only when the store fails. */
export function createOutbox(kysely: Db, reader = kysely, reading = createRowReading()) {
  return {
    ...createDeliveryResults(kysely, reading),

    /**
     * Items of the receiver that are in no notification yet, oldest first, without those that wait until a pending
     * notification about their subject has ended.
     */
    openItems: (receiver: string, limit: number, onHeld?: () => void) =>
      readOpenItems(kysely, reading, receiver, limit, onHeld),

    /** When the groups of the receiver were last notified, at or after a moment, by name. UTC milliseconds. */
    groupTimes: (receiver: string, sinceMs: number) => readGroupTimes(kysely, receiver, sinceMs),

    /** The messages about incidents, in the order in which they were caused. */
    about: (incidentIds: readonly string[]) => readAbout(reader, reading, incidentIds),

    /**
     * How many firing incidents of a rule the receiver was notified of, with these values of the fields of its groups.
     *
     * @returns `most` if there are more
     */
    countFiring: (
      receiver: string,
      rule: string,
      group: Notification["group"],
      most: number,
    ): Promise<number> => countFiring(reader, receiver, rule, group, most),

    /** Stores notifications in the order in which they are sent, and links their items to them. */
    async compose(notifications: readonly NewNotification[]): Promise<void> {
      if (notifications.length === 0) return;
      await kysely.transaction().execute((trx) => insertNotifications(trx, notifications));
    },

    /**
     * Pending notifications that wait for no other, by when their next attempt is due. A notification waits while an earlier
     * one of the same receiver that shares a subject is pending.
     */
    ready: (
      receiver: string,
      limit: number,
      inFlight: readonly number[],
    ): Promise<readonly ReadyNotification[]> =>
      readReady(kysely, reading, receiver, limit, inFlight),

    /**
     * Adopts the times that an earlier process stored. What was overdue is due now, and is retried longer by as much: time
     * in which no process ran does not count.
     */
    boundTimes: (receiver: string, bounds: TimeBounds): Promise<void> =>
      boundTimes(kysely, receiver, bounds),

    async discardResolves(receiver: string): Promise<void> {
      await kysely
        .deleteFrom("outbox_items")
        .where("receiver", "=", receiver)
        .where("type", "=", "incident.resolved")
        .where("notification_seq", "is", null)
        .execute();
    },

    /** For the metrics: each part is answered from an index alone. Of receivers with anything, configured or not. */
    figures: () => readFigures(reader),

    /**
     * Who was not notified yet of which open incident: a message about it waits, or its attempts fail, and none before was
     * delivered. Of very many messages only the first are looked at.
     */
    undelivered: () => readUndelivered(reader),

    /** Since when each receiver waits: when its oldest notification was composed, its oldest item caused. */
    waiting: () => readWaiting(reader),
  };
}

/** As `groupValue` reads them of an item. */
const columnsOfGroup: Readonly<Record<GroupField, RawBuilder<unknown>>> = {
  rule: sql.ref("incidents.rule"),
  region: sql`coalesce(targets.region, incidents.region)`,
  key: sql`coalesce(targets.key, incidents.key)`,
  sandbox_id: sql.ref("incidents.sandbox_id"),
  server_name: sql.ref("incidents.server_name"),
  probe: sql.ref("incidents.probe"),
  incident: sql.ref("incidents.id"),
};

function atLeast(value: RawBuilder<unknown>, bound: number): RawBuilder<unknown> {
  return sql`(case when ${value} < ${bound} then ${bound} else ${value} end)`;
}

function atMost(value: RawBuilder<unknown>, bound: number): RawBuilder<unknown> {
  return sql`(case when ${value} > ${bound} then ${bound} else ${value} end)`;
}

async function countFiring(
  reader: Db,
  receiver: string,
  rule: string,
  group: Notification["group"],
  most: number,
): Promise<number> {
  const conditions = groupFields.flatMap((field) => {
    const value = group[field];
    return value === undefined ? [] : sql`and coalesce(${columnsOfGroup[field]}, '') = ${value}`;
  });
  const { rows } = await sql<{ readonly count: number }>`
    select count(*) as count from (
      select 1 from incidents
      join incident_receivers on incident_receivers.incident_id = incidents.id
      left join targets on targets.id = incidents.target_id
      where incidents.phase <> 'resolved' and incidents.phase = 'firing'
        and incident_receivers.receiver = ${receiver} and incidents.rule = ${rule}
        ${sql.join(conditions, sql` `)}
      limit ${most}
    ) as counted
  `.execute(reader);
  return Number(rows[0]?.count);
}

async function boundTimes(kysely: Db, receiver: string, bounds: TimeBounds): Promise<void> {
  const { nowMs, latestNextAttemptAtMs: latestMs } = bounds;
  const { earliestGiveUpAtMs, latestGiveUpAtMs } = bounds;
  const nextMs = sql.ref("next_attempt_at_ms");
  // What was overdue may be delivered for as much longer.
  const giveUpMs = sql`give_up_at_ms + ${atLeast(sql`${nowMs} - ${nextMs}`, 0)}`;
  await sql`
    update notifications set
      next_attempt_at_ms = ${atMost(atLeast(nextMs, nowMs), latestMs)},
      give_up_at_ms = ${atMost(atLeast(giveUpMs, earliestGiveUpAtMs), latestGiveUpAtMs)}
    where receiver = ${receiver} and state = 'pending' and (
      next_attempt_at_ms not between ${nowMs} and ${latestMs}
      or give_up_at_ms not between ${earliestGiveUpAtMs} and ${latestGiveUpAtMs}
    )
  `.execute(kysely);
}

/** Straight from the index that holds just these. */
async function readReady(
  kysely: Db,
  reading: RowReading,
  receiver: string,
  limit: number,
  inFlight: readonly number[],
): Promise<readonly ReadyNotification[]> {
  const rows = await kysely
    .selectFrom("notifications")
    .where("receiver", "=", receiver)
    .where("state", "=", pending)
    .where("waits_for", "is", null)
    .$if(inFlight.length > 0, (query) => query.where("seq", "not in", inFlight))
    .select(["seq", "body", "attempts", "taken_by"])
    .select(["next_attempt_at_ms as nextAttemptAtMs", "give_up_at_ms as giveUpAtMs"])
    .orderBy("next_attempt_at_ms")
    .orderBy("seq")
    .limit(limit)
    .execute();
  return rows.map((row) => {
    const { body, taken_by, ...rest } = row;
    const read = () => ({
      notification: readNotification(body),
      takenBy: taken_by === null ? [] : listIn(JSON.parse(taken_by), textIn),
    });
    const whole = reading.read("notifications", row, read);
    return { ...rest, ...(whole ?? { notification: null, takenBy: [] }) };
  });
}

/** A count that is out of range could not be incremented. */
const oneMoreAttempt = sql<number>`case when attempts < 1000000000 then attempts + 1 else 1000000000 end`;

export interface Settlement {
  readonly state: "delivered" | "dead";
  readonly reason?: string;
  readonly settledAtMs: number;
}

type JudgeReceiver = (state: ReceiverState) => IncidentOutcome;

/** How attempts end. */
function createDeliveryResults(kysely: Db, reading: RowReading) {
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
