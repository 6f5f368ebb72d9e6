import { sql, type Kysely } from "kysely";
import type { IncidentOutcome } from "../alerts/incident-engine.ts";
import type { ReceiverState } from "../alerts/judge-receivers.ts";
import { writeIncidents } from "./incident-rows.ts";
import { readReceiver } from "./untargeted-incidents.ts";
import { createRowReading } from "./row-reading.ts";
import type { Tables } from "./tables.ts";
import { storableText } from "./storable-text.ts";
import { releaseWaiting } from "./notification-order.ts";

/** SQLite uses a partial index only where the statement itself holds the value. */
const pending = sql.lit<"pending">("pending");

/** Of a count that is out of range, which a damaged row may hold, one more could not be stored. */
const oneMoreAttempt = sql<number>`case when attempts < 1000000000 then attempts + 1 else 1000000000 end`;

/** An attempt that came to an end; the delivery loop declares it. */
export interface EndedAttemptRow {
  readonly atMs: number;
  readonly failure: { readonly reason: string; readonly detail: string } | null;
}

export interface SettlementRow {
  readonly state: "delivered" | "dead";
  readonly reason?: string;
  readonly settledAtMs: number;
}

/** How attempts end, with the meaning that the delivery loop's outbox describes. */
export function createSettlements(kysely: Kysely<Tables>, reading = createRowReading()) {
  return {
    // The incident must be written in the same transaction as what it is about: a crash between the
    // two would leave a receiver that lost something unreported, or report it twice.
    settle: (
      seq: number,
      settlement: SettlementRow,
      attempt: EndedAttemptRow,
      judge: (state: ReceiverState) => IncidentOutcome,
    ): Promise<IncidentOutcome | null> =>
      kysely.transaction().execute(async (trx) => {
        const settled = await trx
          .updateTable("notifications")
          .set({
            state: settlement.state,
            attempts: oneMoreAttempt,
            last_reason: settlement.reason ?? null,
            settled_at_ms: settlement.settledAtMs,
            waits_for: null,
          })
          .where("seq", "=", seq)
          .where("state", "=", pending)
          .returning(["receiver", "attempts"])
          .executeTakeFirst();
        if (!settled) return null;
        await writeAttempt(trx, seq, attempt, settled.attempts);
        await releaseWaiting(trx, seq);
        const outcome = judge(await readReceiver(trx, settled.receiver, reading));
        await writeIncidents(trx, null, outcome);
        return outcome;
      }),

    /** Dead-letters items that cannot be read, each as a notification that cannot be read either. */
    settleUnreadable: (
      receiver: string,
      itemSeqs: readonly number[],
      settlement: SettlementRow,
      judge: (state: ReceiverState) => IncidentOutcome,
    ): Promise<IncidentOutcome> =>
      kysely.transaction().execute(async (trx) => {
        for (const itemSeq of itemSeqs) await writeUnreadable(trx, receiver, itemSeq, settlement);
        const outcome = judge(await readReceiver(trx, receiver, reading));
        await writeIncidents(trx, null, outcome);
        return outcome;
      }),

    retryLater: (seq: number, nextAttemptAtMs: number, attempt: EndedAttemptRow): Promise<void> =>
      kysely.transaction().execute(async (trx) => {
        const retried = await trx
          .updateTable("notifications")
          .set({
            attempts: oneMoreAttempt,
            last_reason: attempt.failure?.reason ?? null,
            next_attempt_at_ms: nextAttemptAtMs,
          })
          .where("seq", "=", seq)
          .where("state", "=", pending)
          .returning("attempts")
          .executeTakeFirst();
        if (retried) await writeAttempt(trx, seq, attempt, retried.attempts);
      }),
  };
}

async function writeUnreadable(
  db: Kysely<Tables>,
  receiver: string,
  itemSeq: number,
  { state, reason, settledAtMs }: SettlementRow,
): Promise<void> {
  const item = await db
    .selectFrom("outbox_items")
    .select("caused_at_ms")
    .where("seq", "=", itemSeq)
    .where("notification_seq", "is", null)
    .executeTakeFirst();
  if (!item) return;
  const { seq } = await db
    .insertInto("notifications")
    .values({
      id: `msg_unreadable_${itemSeq}`,
      receiver,
      state,
      created_at_ms: settledAtMs,
      caused_at_ms: item.caused_at_ms,
      attempts: 0,
      next_attempt_at_ms: settledAtMs,
      give_up_at_ms: settledAtMs,
      waits_for: null,
      last_reason: reason ?? null,
      settled_at_ms: settledAtMs,
      body: "",
    })
    .returning("seq")
    .executeTakeFirstOrThrow();
  await db
    .updateTable("outbox_items")
    .set({ notification_seq: seq })
    .where("seq", "=", itemSeq)
    .execute();
}

const keptFirst = 10;
const keptLast = 10;

/**
 * A receiver that is down for weeks is asked thousands of times: what came first and last tells most.
 *
 * @param attempts how many there were, this one included
 */
async function writeAttempt(
  db: Kysely<Tables>,
  seq: number,
  { atMs, failure }: EndedAttemptRow,
  attempts: number,
): Promise<void> {
  const said = { reason: failure?.reason ?? null, detail: storableText(failure?.detail ?? null) };
  await db
    .insertInto("delivery_attempts")
    .values({ notification_seq: seq, at_ms: atMs, ...said })
    .execute();
  if (attempts <= keptFirst + keptLast) return;
  const ids = db.selectFrom("delivery_attempts").select("id").where("notification_seq", "=", seq);
  await db
    .deleteFrom("delivery_attempts")
    .where("notification_seq", "=", seq)
    .where(
      "id",
      ">",
      ids
        .orderBy("id")
        .limit(1)
        .offset(keptFirst - 1),
    )
    .where(
      "id",
      "<",
      ids
        .orderBy("id", "desc")
        .limit(1)
        .offset(keptLast - 1),
    )
    .execute();
}
