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
export async function pruneSome(kysely: Kysely<Tables>, bounds: PruneBounds): Promise<boolean> {
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

async function selectSettled(
  kysely: Kysely<Tables>,
  { deliveredBeforeMs, deadBeforeMs }: PruneBounds,
): Promise<readonly number[]> {
  const { rows } = await sql<{ seq: number }>`
    select seq from (
      select seq from notifications
      where state in ('delivered', 'discarded') and settled_at_ms < ${deliveredBeforeMs}
      order by settled_at_ms limit ${notificationsAtOnce}
    )
    union all
    select seq from (
      select seq from notifications
      where state = 'dead' and settled_at_ms < ${deadBeforeMs}
      order by settled_at_ms limit ${notificationsAtOnce}
    )
  `.execute(kysely);
  return rows.map(({ seq }) => seq);
}
