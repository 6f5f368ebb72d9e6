import { sql, type Kysely } from "kysely";
import type { Tables } from "./tables.ts";

/**
 * First in, first out for each receiver and subject, so for each incident too: who waited for this
 * notification may now be ready, or waits for one that is earlier still. Blockers become fewer, since
 * what is composed later is told later; only what is replayed becomes one again.
 */
export async function releaseWaiting(db: Kysely<Tables>, seq: number): Promise<void> {
  await sql`update notifications set waits_for = ${latestBlocker} where waits_for = ${seq}`.execute(
    db,
  );
}

/** The notification that the one being updated must wait for. */
export const latestBlocker = sql<number | null>`(
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

/**
 * A notification that was settled is pending again: what is told of its subjects waits for it, where
 * it does not wait for a later one already.
 */
export async function holdBackLater(db: Kysely<Tables>, seq: number): Promise<void> {
  await sql`
    update notifications set waits_for = ${seq}
    where state = 'pending' and seq > ${seq} and (waits_for is null or waits_for < ${seq})
      and seq in (
        select theirs.notification_seq
        from outbox_items as mine
        join outbox_items as theirs on theirs.subject = mine.subject
        where mine.notification_seq = ${seq}
      )
  `.execute(db);
}
