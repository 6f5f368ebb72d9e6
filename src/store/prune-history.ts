import { sql, type Kysely } from "kysely";
import { resolutionMs } from "../core/occupancy/bucket.ts";
import type { Resolution } from "../core/occupancy/bucket.ts";
import { bucketTables } from "./bucket-rows.ts";
import { pruneNotifications, pruneOwedItems } from "./prune-notifications.ts";
import type { PruneBounds } from "./prune-notifications.ts";
import type { Tables } from "./tables.ts";

/**
 * Removes what is kept no longer, a little with each call: so little that a poll that waits for the
 * store waits briefly. All give whether there may be more. Times are UTC milliseconds.
 */
export interface Pruning {
  notifications(bounds: PruneBounds): Promise<boolean>;
  /** What waits for receivers other than these. */
  owedItems(beforeMs: number, configured: readonly string[]): Promise<boolean>;
  /** Those in a bundle go when all of it is from before. */
  changes(beforeMs: number): Promise<boolean>;
  /** Those that ended before. */
  gaps(beforeMs: number): Promise<boolean>;
  /** Those that were resolved before and that no notification tells of, with who knew of them. */
  incidents(beforeMs: number): Promise<boolean>;
  /** Those that ended before. */
  silences(beforeMs: number): Promise<boolean>;
  /** Those that ended before. */
  buckets(resolution: Resolution, beforeMs: number): Promise<boolean>;
}

const bucketsAtOnce = 500;
const gapsAtOnce = 500;
const incidentsAtOnce = 100;

/** One row can have hundreds of changes. */
const changeRowsAtOnce = 200;

export function createPruning(kysely: Kysely<Tables>): Pruning {
  return {
    notifications: (bounds) => pruneNotifications(kysely, bounds),

    owedItems: (beforeMs, configured) => pruneOwedItems(kysely, beforeMs, configured),

    async changes(beforeMs) {
      const { numAffectedRows: bundles } = await sql`
        delete from change_bundles where last_row in (
          select last_row from change_bundles where last_at_ms < ${beforeMs} limit 1
        )
      `.execute(kysely);
      if (bundles === 1n) return true;
      const { numAffectedRows } = await sql`
        delete from changes where id in (
          select id from changes where at_ms < ${beforeMs} order by at_ms limit ${changeRowsAtOnce}
        )
      `.execute(kysely);
      return numAffectedRows === BigInt(changeRowsAtOnce);
    },

    async gaps(beforeMs) {
      const { numAffectedRows } = await sql`
        delete from gaps where (target_id, from_at_ms) in (
          select gaps.target_id, gaps.from_at_ms
          from targets cross join gaps on gaps.target_id = targets.id
          where gaps.from_at_ms < ${beforeMs} and gaps.to_at_ms < ${beforeMs}
          limit ${gapsAtOnce}
        )
      `.execute(kysely);
      return numAffectedRows === BigInt(gapsAtOnce);
    },

    incidents: (beforeMs) =>
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

    async silences(beforeMs) {
      await kysely.deleteFrom("silences").where("ends_at_ms", "<", beforeMs).execute();
      return false;
    },

    async buckets(resolution, beforeMs) {
      const table = sql.table(bucketTables[resolution]);
      const stepMs = resolutionMs[resolution];
      const { rows } = await sql<{ first_ms: number | null; targets: number }>`
        select count(*) as targets,
          min((select min(start_at_ms) from ${table} where target_id = targets.id)) as first_ms
        from targets
      `.execute(kysely);
      const { first_ms: firstMs = null, targets = 0 } = rows[0] ?? {};
      const lastMs = beforeMs - stepMs;
      if (firstMs === null || firstMs >= lastMs) return false;
      // Those of one time were written at one time, and are close together.
      const atOnceMs = stepMs * Math.max(1, Math.floor(bucketsAtOnce / targets));
      await sql`
        delete from ${table} where id in (
          select id from ${table}
          where target_id in (select id from targets)
            and start_at_ms < ${Math.min(firstMs + atOnceMs, lastMs)}
          limit ${bucketsAtOnce}
        )
      `.execute(kysely);
      return true;
    },
  };
}
