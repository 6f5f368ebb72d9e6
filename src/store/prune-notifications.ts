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
    const list = JSON.stringify(seqs);
    const items = await sql`
      delete from outbox_items where seq in (
        select seq from outbox_items
        where notification_seq in (select value from json_each(${list})) limit ${itemsAtOnce}
      )
    `.execute(trx);
    // A notification goes with the last of its items.
    if (Number(items.numAffectedRows ?? 0) === itemsAtOnce) return true;
    await sql`
      delete from delivery_attempts
      where notification_seq in (select value from json_each(${list}))
    `.execute(trx);
    await sql`
      delete from notifications where seq in (select value from json_each(${list}))
    `.execute(trx);
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
  const removed = await sql`
    delete from outbox_items where seq in (
      select seq from outbox_items
      where notification_seq is null and caused_at_ms < ${beforeMs}
        and receiver not in (select value from json_each(${JSON.stringify(configured)}))
      limit ${itemsAtOnce}
    )
  `.execute(kysely);
  return Number(removed.numAffectedRows ?? 0) === itemsAtOnce;
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
    )
    union all
    select seq from (
      select seq from notifications
      where state = 'dead' and settled_at_ms < ${deadBeforeMs}
        and not ${isLastWord}
      order by settled_at_ms limit ${notificationsAtOnce}
    )
  `.execute(kysely);
  return rows.map(({ seq }) => seq);
}
