import { sql, type Kysely } from "kysely";
import type { Tables } from "./tables.ts";

/** Notifications that were settled before these moments go. UTC milliseconds. */
export interface PruneBounds {
  readonly deliveredBeforeMs: number;
  readonly deadBeforeMs: number;
}

/** So many rows go in one step: few enough that a poll that waits for the store waits briefly. */
const notificationsAtOnce = 50;
const itemsAtOnce = 500;

/**
 * Removes some notifications that were settled long ago, with what they told and their attempts.
 *
 * @returns whether there may be more
 */
export async function pruneNotifications(
  kysely: Kysely<Tables>,
  bounds: PruneBounds,
): Promise<boolean> {
  return kysely.transaction().execute(async (trx) => {
    const seqs = await selectSettled(trx, bounds);
    if (seqs.length === 0) return false;
    const items = trx
      .selectFrom("outbox_items")
      .select("seq")
      .where("notification_seq", "in", seqs)
      .limit(itemsAtOnce);
    const { numDeletedRows } = await trx
      .deleteFrom("outbox_items")
      .where("seq", "in", items)
      .executeTakeFirst();
    // A notification goes with the last of its items.
    if (numDeletedRows === BigInt(itemsAtOnce)) return true;
    await trx.deleteFrom("delivery_attempts").where("notification_seq", "in", seqs).execute();
    await trx.deleteFrom("notifications").where("seq", "in", seqs).execute();
    return true;
  });
}

/**
 * Removes some of what waits for receivers that are not configured and was caused before a moment (UTC
 * milliseconds).
 *
 * @returns whether there may be more
 */
export async function pruneOwedItems(
  kysely: Kysely<Tables>,
  beforeMs: number,
  configured: readonly string[],
): Promise<boolean> {
  let items = kysely
    .selectFrom("outbox_items")
    .select("seq")
    .where("notification_seq", "is", null)
    .where("caused_at_ms", "<", beforeMs)
    .limit(itemsAtOnce);
  if (configured.length > 0) items = items.where("receiver", "not in", configured);
  const { numDeletedRows } = await kysely
    .deleteFrom("outbox_items")
    .where("seq", "in", items)
    .executeTakeFirst();
  return numDeletedRows === BigInt(itemsAtOnce);
}

/**
 * What was last said of an incident that is open is still of use: receivers that are told of states
 * say it again and again.
 */
const isLastWord = sql<boolean>`exists (
  select 1 from outbox_items as item join incidents on incidents.id = item.incident_id
  where item.notification_seq = notifications.seq and incidents.phase <> 'resolved'
    and not exists (
      select 1 from outbox_items as later
      where later.incident_id = item.incident_id and later.receiver = item.receiver
        and later.seq > item.seq
    )
)`;

async function selectSettled(
  kysely: Kysely<Tables>,
  { deliveredBeforeMs, deadBeforeMs }: PruneBounds,
): Promise<readonly number[]> {
  const { rows } = await sql<{ seq: number }>`
    select seq from (
      select seq from notifications
      where state in ('delivered', 'discarded') and settled_at_ms < ${deliveredBeforeMs}
        and not ${isLastWord}
      order by settled_at_ms limit ${notificationsAtOnce}
    ) as done
    union all
    select seq from (
      select seq from notifications
      where state = 'dead' and settled_at_ms < ${deadBeforeMs}
        and not ${isLastWord}
      order by settled_at_ms limit ${notificationsAtOnce}
    ) as dead
  `.execute(kysely);
  return rows.map(({ seq }) => seq);
}
