import { sql, type RawBuilder } from "kysely";
import { countedKinds, resolutionMs, type RolledUp } from "../fleet/buckets.ts";
import type { Db } from "./tables.ts";

const rowsAtOnce = 500;
const incidentsAtOnce = 100;
const notificationsAtOnce = 50;

/**
 * Deletes old rows, a few with each call, so that a poll that waits for the store waits briefly. All return
 * whether there may be more. Times are UTC milliseconds.
 */
export function createPruning(kysely: Db) {
  return {
    /** Deletes notifications that were settled before these moments, with their items and attempts. */
    notifications: (bounds: PruneBounds): Promise<boolean> =>
      kysely.transaction().execute(async (trx) => {
        const { rows } = await selectSettled(bounds).execute(trx);
        if (rows.length === 0) return false;
        const seqs = sql.join(rows.map(({ seq }) => seq));
        const items = sql`delete from outbox_items where seq in (
          select seq from outbox_items where notification_seq in (${seqs}) limit ${rowsAtOnce}
        )`;
        // A notification is deleted with the last of its items.
        if (await deleteSome(trx, items)) return true;
        await sql`delete from delivery_attempts where notification_seq in (${seqs})`.execute(trx);
        await sql`delete from notifications where seq in (${seqs})`.execute(trx);
        return true;
      }),

    /** Deletes items for other receivers than these that were caused before. */
    owedItems(beforeMs: number, configured: readonly string[]): Promise<boolean> {
      const isOther =
        configured.length === 0 ? sql`true` : sql`receiver not in (${sql.join(configured)})`;
      return deleteSome(
        kysely,
        sql`delete from outbox_items where seq in (
        select seq from outbox_items
        where notification_seq is null and caused_at_ms < ${beforeMs} and ${isOther}
        limit ${rowsAtOnce}
      )`,
      );
    },

    /**
     * Those that are rolled up. Also deletes sandboxes and servers that are gone and to which no change refers any more, and
     * attributes that no change names any more.
     */
    changes: (beforeMs: number): Promise<boolean> => deleteChanges(kysely, beforeMs),

    /** Those that ended before and are rolled up. */
    gaps: (beforeMs: number): Promise<boolean> =>
      deleteSome(
        kysely,
        sql`delete from gaps where (target_id, from_at_ms) in (
        select target_id, from_at_ms from gaps where to_at_ms < ${beforeMs}
          and to_at_ms <= (select rolled_up_to_ms from targets where id = gaps.target_id)
        limit ${rowsAtOnce}
      )`,
      ),

    /** Deletes incidents that were resolved before and have no notifications, with their acknowledgements. */
    incidents: (beforeMs: number): Promise<boolean> =>
      kysely.transaction().execute(async (trx) => {
        const { rows } = await sql<{ readonly id: string }>`
          select id from incidents
          where phase = 'resolved' and resolved_at_ms < ${beforeMs}
            and not exists (select 1 from outbox_items where incident_id = incidents.id)
          order by resolved_at_ms limit ${incidentsAtOnce}
        `.execute(trx);
        if (rows.length === 0) return false;
        const ids = rows.map(({ id }) => id);
        await trx.deleteFrom("acknowledgements").where("incident_id", "in", ids).execute();
        await trx.deleteFrom("incidents").where("id", "in", ids).execute();
        return rows.length === incidentsAtOnce;
      }),

    /** Those that ended before. */
    async silences(beforeMs: number): Promise<boolean> {
      await kysely.deleteFrom("silences").where("ends_at_ms", "<", beforeMs).execute();
      return false;
    },

    /** Those that ended before. The last two days of hours stay, as what follows is counted from them. */
    async rollups(resolution: RolledUp, beforeMs: number, nowMs: number): Promise<boolean> {
      const leastMs = resolution === "1h" ? 2 * resolutionMs["1d"] : 0;
      const endMs = Math.min(beforeMs, nowMs - leastMs);
      await noteDeleted(kysely, resolution, endMs);
      for (const counted of countedKinds) {
        const old = sql`counted = ${counted} and resolution = ${resolution}
          and start_at_ms <= ${endMs - resolutionMs[resolution]}`;
        const hasMore = await deleteSome(
          kysely,
          sql`delete from rollups
          where (counted, resolution, start_at_ms, target_id, value_id) in (
            select counted, resolution, start_at_ms, target_id, value_id from rollups
            where ${old} order by start_at_ms limit ${rowsAtOnce}
          )`,
        );
        if (hasMore) return true;
      }
      return false;
    },
  };
}

/** From then on all of it is kept. Nothing is deleted where nothing was recorded before. */
export async function noteDeleted(
  db: Db,
  what: "changes" | RolledUp,
  beforeMs: number,
): Promise<void> {
  const older = db.selectFrom("targets").select("id").where("recorded_from_ms", "<", beforeMs);
  if (!(await older.limit(1).executeTakeFirst())) return;
  await db
    .insertInto("deleted_history")
    .values({ what, before_ms: beforeMs })
    .onConflict((conflict) =>
      conflict
        .column("what")
        .doUpdateSet({ before_ms: beforeMs })
        .where("deleted_history.before_ms", "<", beforeMs),
    )
    .execute();
}

/** UTC milliseconds. */
export interface PruneBounds {
  readonly deliveredBeforeMs: number;
  readonly deadBeforeMs: number;
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

function selectSettled({ deliveredBeforeMs, deadBeforeMs }: PruneBounds) {
  return sql<{ readonly seq: number }>`
    select seq from (
      select seq from notifications
      where state in ('delivered', 'discarded') and settled_at_ms < ${deliveredBeforeMs}
        and not ${isLastOfOpen}
      order by settled_at_ms limit ${notificationsAtOnce}
    ) as done
    union all
    select seq from (
      select seq from notifications
      where state = 'dead' and settled_at_ms < ${deadBeforeMs} and not ${isLastOfOpen}
      order by settled_at_ms limit ${notificationsAtOnce}
    ) as dead
  `;
}

async function deleteSome(db: Db, statement: RawBuilder<unknown>): Promise<boolean> {
  const { numAffectedRows } = await statement.execute(db);
  return numAffectedRows === BigInt(rowsAtOnce);
}

async function deleteChanges(kysely: Db, beforeMs: number): Promise<boolean> {
  await noteDeleted(kysely, "changes", beforeMs);
  const old = sql`delete from changes where seq in (
    select seq from changes where at_ms < ${beforeMs}
      and at_ms < (select rolled_up_to_ms from targets where id = changes.target_id)
    order by at_ms limit ${rowsAtOnce}
  )`;
  const unused = (table: "sandboxes" | "servers", subject: "sandbox" | "server") => {
    const [rows, row] = [sql.table(table), sql.ref(`changes.${subject}`)];
    return sql`delete from ${rows} where id in (
      select id from ${rows}
      where gone_at_ms < ${beforeMs}
        and not exists (select 1 from changes where ${row} = ${rows}.id)
      order by gone_at_ms limit ${rowsAtOnce}
    )`;
  };
  const unnamed = sql`delete from value_sets where id in (
    select id from value_sets where used_at_ms < ${beforeMs - resolutionMs["1d"]}
      and not exists (select 1 from changes where at_ms < ${beforeMs})
    order by used_at_ms limit ${rowsAtOnce}
  )`;
  return (
    (await deleteSome(kysely, old)) ||
    (await deleteSome(kysely, unused("servers", "server"))) ||
    (await deleteSome(kysely, unused("sandboxes", "sandbox"))) ||
    deleteSome(kysely, unnamed)
  );
}
