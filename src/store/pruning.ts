import { sql } from "kysely";
import type { DeleteResult } from "kysely";
import { resolutionMs } from "../fleet/buckets.ts";
import type { Resolution } from "../fleet/buckets.ts";
import { isBeyond } from "./queries.ts";
import type { Db } from "./tables.ts";

/** Notifications that were settled before these moments are deleted. UTC milliseconds. */
export interface PruneBounds {
  readonly deliveredBeforeMs: number;
  readonly deadBeforeMs: number;
}

const rowsAtOnce = 500;
const incidentsAtOnce = 100;
const notificationsAtOnce = 50;

/**
 * Deletes old rows, a few with each call, so that a poll that waits for the store waits briefly. All return
 * whether there may be more. Times are UTC milliseconds.
 */
export function createPruning(kysely: Db) {
  return {
    /** With their items and attempts. */
    notifications: (bounds: PruneBounds): Promise<boolean> =>
      kysely.transaction().execute(async (trx) => {
        const seqs = await selectSettled(trx, bounds);
        if (seqs.length === 0) return false;
        const items = trx
          .selectFrom("outbox_items")
          .select("seq")
          .where("notification_seq", "in", seqs)
          .limit(rowsAtOnce);
        const deleted = await trx
          .deleteFrom("outbox_items")
          .where("seq", "in", items)
          .executeTakeFirst();
        // A notification goes with the last of its items.
        if (isFull(deleted)) return true;
        await trx.deleteFrom("delivery_attempts").where("notification_seq", "in", seqs).execute();
        await trx.deleteFrom("notifications").where("seq", "in", seqs).execute();
        return true;
      }),

    /** Items that wait for receivers other than these and were caused before. */
    async owedItems(beforeMs: number, configured: readonly string[]): Promise<boolean> {
      let items = kysely
        .selectFrom("outbox_items")
        .select("seq")
        .where("notification_seq", "is", null)
        .where("caused_at_ms", "<", beforeMs)
        .limit(rowsAtOnce);
      if (configured.length > 0) items = items.where("receiver", "not in", configured);
      const deletion = kysely.deleteFrom("outbox_items").where("seq", "in", items);
      return isFull(await deletion.executeTakeFirst());
    },

    /** With the servers that are gone and to which no change refers any more. */
    async changes(beforeMs: number): Promise<boolean> {
      const old = kysely
        .selectFrom("changes")
        .select("seq")
        .where("at_ms", "<", beforeMs)
        .orderBy("at_ms")
        .limit(rowsAtOnce);
      const deletion = kysely.deleteFrom("changes").where("seq", "in", old);
      if (isFull(await deletion.executeTakeFirst())) return true;
      const unused = kysely
        .selectFrom("servers")
        .select("id")
        .where("gone_at_ms", "<", beforeMs)
        .where(sql<boolean>`not exists (select 1 from changes where changes.server = servers.id)`)
        .orderBy("gone_at_ms")
        .limit(rowsAtOnce);
      const servers = kysely.deleteFrom("servers").where("id", "in", unused);
      return isFull(await servers.executeTakeFirst());
    },

    /** Those that ended before. */
    async gaps(beforeMs: number): Promise<boolean> {
      const deletion = kysely.deleteFrom("gaps").where(sql<boolean>`
        (target_id, from_at_ms) in (
          select target_id, from_at_ms from gaps where to_at_ms < ${beforeMs} limit ${rowsAtOnce}
        )
      `);
      return isFull(await deletion.executeTakeFirst());
    },

    /** Those that were resolved before and about which no notification is kept, with their acknowledgements. */
    incidents: (beforeMs: number): Promise<boolean> =>
      kysely.transaction().execute(async (trx) => {
        const rows = await trx
          .selectFrom("incidents")
          .select("id")
          .where("phase", "=", sql.lit("resolved"))
          .where("resolved_at_ms", "<", beforeMs)
          .where(sql<boolean>`not exists (
            select 1 from outbox_items where outbox_items.incident_id = incidents.id
          )`)
          .orderBy("resolved_at_ms")
          .limit(incidentsAtOnce)
          .execute();
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

    /** Those that ended before. */
    async buckets(resolution: Resolution, beforeMs: number): Promise<boolean> {
      const lastMs = beforeMs - resolutionMs[resolution];
      const ofNames = await pruneBuckets(kysely, "occupancy", resolution, lastMs);
      return ofNames || pruneBuckets(kysely, "target_buckets", resolution, lastMs);
    },
  };
}

function isFull({ numDeletedRows }: DeleteResult): boolean {
  return numDeletedRows === BigInt(rowsAtOnce);
}

/** Those of the earliest starts, and of some targets of the last one of these. */
async function pruneBuckets(
  kysely: Db,
  table: "occupancy" | "target_buckets",
  resolution: Resolution,
  beforeMs: number,
): Promise<boolean> {
  const next = await kysely
    .selectFrom(table)
    .select(["start_at_ms", "target_id"])
    .where("resolution", "=", resolution)
    .where("start_at_ms", "<", beforeMs)
    .orderBy("start_at_ms")
    .orderBy("target_id")
    .offset(rowsAtOnce)
    .limit(1)
    .executeTakeFirst();
  let deletion = kysely
    .deleteFrom(table)
    .where("resolution", "=", resolution)
    .where("start_at_ms", "<", beforeMs);
  if (next) {
    const bound = [next.start_at_ms, next.target_id];
    deletion = deletion.where(isBeyond(["start_at_ms", "target_id"], "<", bound));
  }
  await deletion.execute();
  return next !== undefined;
}

/** Receivers of states are notified of an open incident's last message again and again. */
const isLastOfOpen = sql<boolean>`exists (
  select 1 from outbox_items as item join incidents on incidents.id = item.incident_id
  where item.notification_seq = notifications.seq and incidents.phase <> 'resolved'
    and not exists (
      select 1 from outbox_items as later
      where later.incident_id = item.incident_id and later.receiver = item.receiver
        and later.seq > item.seq
    )
)`;

async function selectSettled(
  trx: Db,
  { deliveredBeforeMs, deadBeforeMs }: PruneBounds,
): Promise<readonly number[]> {
  const { rows } = await sql<{ seq: number }>`
    select seq from (
      select seq from notifications
      where state in ('delivered', 'discarded') and settled_at_ms < ${deliveredBeforeMs}
        and not ${isLastOfOpen}
      order by settled_at_ms limit ${notificationsAtOnce}
    ) as done
    union all
    select seq from (
      select seq from notifications
      where state = 'dead' and settled_at_ms < ${deadBeforeMs}
        and not ${isLastOfOpen}
      order by settled_at_ms limit ${notificationsAtOnce}
    ) as dead
  `.execute(trx);
  return rows.map(({ seq }) => seq);
}
