import { sql, type Kysely } from "kysely";
import { resolutionMs } from "../fleet/buckets.ts";
import type { Resolution } from "../fleet/buckets.ts";
import { pruneNotifications, pruneOwedItems } from "./prune-notifications.ts";
import type { PruneBounds } from "./prune-notifications.ts";
import { isBeyond } from "./queries.ts";
import type { Tables } from "./tables.ts";

/**
 * Removes what is kept no longer, a little with each call: so little that a poll that waits for the
 * store waits briefly. All give whether there may be more. Times are UTC milliseconds.
 */
export interface Pruning {
  notifications(bounds: PruneBounds): Promise<boolean>;
  /** What waits for receivers other than these. */
  owedItems(beforeMs: number, configured: readonly string[]): Promise<boolean>;
  /** With the servers that are gone and to which none refers any more. */
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

const rowsAtOnce = 500;
const incidentsAtOnce = 100;

export function createPruning(kysely: Kysely<Tables>): Pruning {
  return {
    notifications: (bounds) => pruneNotifications(kysely, bounds),

    owedItems: (beforeMs, configured) => pruneOwedItems(kysely, beforeMs, configured),

    async changes(beforeMs) {
      const old = kysely
        .selectFrom("changes")
        .select("seq")
        .where("at_ms", "<", beforeMs)
        .orderBy("at_ms")
        .limit(rowsAtOnce);
      const { numDeletedRows } = await kysely
        .deleteFrom("changes")
        .where("seq", "in", old)
        .executeTakeFirst();
      return numDeletedRows === BigInt(rowsAtOnce) || (await pruneServers(kysely, beforeMs));
    },

    async gaps(beforeMs) {
      const rows = await kysely
        .selectFrom("gaps")
        .select(["target_id", "from_at_ms"])
        .where("to_at_ms", "<", beforeMs)
        .limit(rowsAtOnce)
        .execute();
      for (const [targetId, ofTarget] of Map.groupBy(rows, (row) => row.target_id)) {
        await kysely
          .deleteFrom("gaps")
          .where("target_id", "=", targetId)
          .where(
            "from_at_ms",
            "in",
            ofTarget.map((row) => row.from_at_ms),
          )
          .execute();
      }
      return rows.length === rowsAtOnce;
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
      const lastMs = beforeMs - resolutionMs[resolution];
      const ofNames = await pruneBuckets(kysely, "occupancy", resolution, lastMs);
      return ofNames || pruneBuckets(kysely, "target_buckets", resolution, lastMs);
    },
  };
}

/** Rows of servers that are gone, to which no change refers any more. */
async function pruneServers(kysely: Kysely<Tables>, beforeMs: number): Promise<boolean> {
  const unused = kysely
    .selectFrom("servers")
    .select("id")
    .where("gone_at_ms", "<", beforeMs)
    .where((eb) =>
      eb.not(
        eb.exists(
          eb.selectFrom("changes").select("seq").whereRef("changes.server", "=", "servers.id"),
        ),
      ),
    )
    .orderBy("gone_at_ms")
    .limit(rowsAtOnce);
  const { numDeletedRows } = await kysely
    .deleteFrom("servers")
    .where("id", "in", unused)
    .executeTakeFirst();
  return numDeletedRows === BigInt(rowsAtOnce);
}

/** Those of the earliest starts, and of some targets of the last one of these. */
async function pruneBuckets(
  kysely: Kysely<Tables>,
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
    const { start_at_ms: startMs, target_id: targetId } = next;
    deletion = deletion.where(isBeyond(["start_at_ms", "target_id"], "<", [startMs, targetId]));
  }
  await deletion.execute();
  return next !== undefined;
}
