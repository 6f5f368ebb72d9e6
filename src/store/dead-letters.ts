import { sql, type Kysely, type Selectable, type Transaction } from "kysely";
import type { NotificationType } from "../alerts/notification.ts";
import type { Severity } from "../alerts/rule.ts";
import { batches, paced } from "../lib/paced.ts";
import { readNotification } from "./bodies.ts";
import { fillPage } from "./queries.ts";
import { createRowReading, oneOf } from "./row-reading.ts";
import type { Tables } from "./tables.ts";
import { holdBackLater, latestBlocker } from "./notification-order.ts";

export const notificationStates = ["pending", "delivered", "dead", "discarded"] as const;
export type NotificationState = (typeof notificationStates)[number];

/** A notification as people look at it. Times are UTC milliseconds. */
export interface NotificationRecord {
  /** Grows with every notification. */
  readonly seq: number;
  readonly id: string;
  readonly receiver: string;
  readonly state: NotificationState;
  readonly type: NotificationType;
  readonly rule: string;
  readonly severity: Severity;
  readonly summary: string;
  readonly createdAtMs: number;
  /** When the poll that saw the cause ended. */
  readonly causedAtMs: number;
  /** How often it was tried in all, before and after a replay. */
  readonly attempts: number;
  /** Why the last attempt failed, or why it was given up; null: it was taken, or not tried yet. */
  readonly lastReason: string | null;
  readonly settledAtMs: number | null;
}

export interface NotificationQuery {
  /** Left out: in any state. */
  readonly states?: readonly NotificationState[];
  readonly receiver?: string;
  readonly limit: number;
  /** Only those with a smaller `seq`: the last one's of the page before. */
  readonly before?: number;
}

/** Which dead notifications: these, or all of one receiver. Others are left as they are. */
export type DeadLetters = { readonly seqs: readonly number[] } | { readonly receiver: string };

/** What people see of notifications, and do about those that were given up. */
export interface Notifications {
  /** Newest first. */
  list(query: NotificationQuery): Promise<readonly NotificationRecord[]>;
  /** Null: there is none, or not any more. */
  find(seq: number): Promise<NotificationRecord | "unreadable" | null>;
  /**
   * Makes dead ones pending again; what is told of their subjects later waits for them.
   *
   * @param freshTimes when those of a receiver are due and given up, by the delivery loop's clock
   * @returns how many
   */
  replay(
    which: DeadLetters,
    freshTimes: (receiver: string) => {
      readonly nextAttemptAtMs: number;
      readonly giveUpAtMs: number;
    },
  ): Promise<number>;
  /** Lets dead ones be; gives how many. */
  discard(which: DeadLetters, atMs: number): Promise<number>;
}

/** Polls commit between two transactions of so many. */
const atOnce = 100;

/** SQLite uses a partial index only where the statement itself holds the value. */
const dead = sql.lit<"dead">("dead");

export function createNotifications(
  kysely: Kysely<Tables>,
  reader = kysely,
  reading = createRowReading(),
): Notifications {
  const read = (row: Selectable<Tables["notifications"]>): NotificationRecord | null =>
    reading.read("notifications", row.seq, row, recordFromRow);

  /** Each transaction takes the earliest that are left, so that what was told first is first again. */
  const change = async (
    which: DeadLetters,
    changeSome: (trx: Transaction<Tables>, some: readonly DeadRow[]) => Promise<void>,
  ): Promise<number> => {
    let count = 0;
    const seqs = await selectSeqs(kysely, which);
    for await (const batch of paced(batches(seqs, atOnce))) {
      count += await kysely.transaction().execute(async (trx) => {
        const some = await trx
          .selectFrom("notifications")
          .select(["seq", "receiver"])
          .where("seq", "in", batch)
          .where("state", "=", dead)
          .orderBy("seq")
          .execute();
        await changeSome(trx, some);
        return some.length;
      });
    }
    return count;
  };

  return {
    async list({ states, receiver, limit, before }) {
      if (states?.length === 0) return [];
      let query = reader.selectFrom("notifications").selectAll();
      if (states !== undefined) query = query.where("state", "in", states);
      if (receiver !== undefined) query = query.where("receiver", "=", receiver);
      return fillPage(
        limit,
        (last: Selectable<Tables["notifications"]> | null, most) => {
          const bound = last?.seq ?? before;
          const some = bound === undefined ? query : query.where("seq", "<", bound);
          return some.orderBy("seq", "desc").limit(most).execute();
        },
        read,
      );
    },
    async find(seq) {
      const row = await reader
        .selectFrom("notifications")
        .selectAll()
        .where("seq", "=", seq)
        .executeTakeFirst();
      if (!row) return null;
      return read(row) ?? "unreadable";
    },
    replay: (which, freshTimes) =>
      change(which, async (trx, some) => {
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
    discard: (which, atMs) =>
      change(which, async (trx, some) => {
        for (const { seq } of some) {
          await trx
            .updateTable("notifications")
            .set({ state: "discarded", settled_at_ms: atMs })
            .where("seq", "=", seq)
            .execute();
        }
      }),
  };
}

interface DeadRow {
  readonly seq: number;
  readonly receiver: string;
}

/** Oldest first. */
async function selectSeqs(kysely: Kysely<Tables>, which: DeadLetters): Promise<readonly number[]> {
  if ("seqs" in which) return [...new Set(which.seqs)].toSorted((a, b) => a - b);
  const rows = await kysely
    .selectFrom("notifications")
    .select("seq")
    .where("receiver", "=", which.receiver)
    .where("state", "=", dead)
    .orderBy("seq")
    .execute();
  return rows.map(({ seq }) => seq);
}

function recordFromRow(row: Selectable<Tables["notifications"]>): NotificationRecord {
  const { type, rule, severity, summary } = readNotification(row.body);
  return {
    seq: row.seq,
    id: row.id,
    receiver: row.receiver,
    state: oneOf(notificationStates, row.state),
    type,
    rule,
    severity,
    summary,
    createdAtMs: row.created_at_ms,
    causedAtMs: row.caused_at_ms,
    attempts: row.attempts,
    lastReason: row.last_reason,
    settledAtMs: row.settled_at_ms,
  };
}
