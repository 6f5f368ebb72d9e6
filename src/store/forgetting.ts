import { setImmediate } from "node:timers/promises";
import { sql, type RawBuilder } from "kysely";
import { countedKinds } from "../fleet/buckets.ts";
import { deleteIncidents } from "./incidents.ts";
import { deleteNotifications, unblockWaiting } from "./notifications.ts";
import { deletedAtOnce, deleteFirst, deleteRows } from "./sql-helpers.ts";
import type { Db, Tables } from "./tables.ts";

const rollupsAtOnce = 25;
const incidentsAtOnce = 50;
const notificationsAtOnce = 20;

export interface UndeliveredOf {
  /** Items and notifications that wait for their receivers and concern the key. */
  readonly waiting: number;
  /** Of these, notifications that also concern others. */
  readonly shared: number;
}

/** Deletes a slice of some rows. 0: none are left. */
type Slice = () => Promise<number>;

/**
 * Deletes everything that is stored of a key, a few rows with each transaction, so that polls wait briefly. Names of servers
 * stay: other keys may have servers of the same name.
 */
export function createForgetting(kysely: Db) {
  return {
    async undelivered(key: string): Promise<UndeliveredOf> {
      const { rows } = await sql<{ readonly waiting: number; readonly shared: number }>`
        select
          (select count(*) from outbox_items
            where notification_seq is null and incident_id in (${incidentsOf(key)})) +
          (select count(*) from notifications where ${isPendingOf(key)}) as waiting,
          (select count(*) from notifications where ${isPendingOf(key)} and (exists (
            select 1 from outbox_items where notification_seq = notifications.seq
              and incident_id not in (${incidentsOf(key)})
          ) or ${isReportOf(key)})) as shared
      `.execute(kysely);
      return rows[0] ?? { waiting: 0, shared: 0 };
    },

    /**
     * @param goesOn asked after each transaction whether there is time for another one
     * @returns how many rows were deleted, and whether none are left
     */
    async forget(
      key: string,
      goesOn: () => boolean,
    ): Promise<{ readonly deleted: number; readonly isComplete: boolean }> {
      // From then on its history is not read, and not rolled up from what is left.
      await kysely
        .updateTable("targets")
        .set({ recorded_from_ms: null, recorded_to_ms: null })
        .where("key", "=", key)
        .execute();
      let deleted = 0;
      for (const slice of slicesOf(kysely, key)) {
        for (let some = await slice(); some > 0; some = await slice()) {
          deleted += some;
          await setImmediate();
          if (!goesOn()) return { deleted, isComplete: false };
        }
      }
      return { deleted, isComplete: true };
    },
  };
}

/** In this order: rows are deleted before those that they refer to. */
function slicesOf(kysely: Db, key: string): readonly Slice[] {
  const deletes = (
    table: keyof Tables,
    columns: readonly string[],
    condition: RawBuilder<unknown>,
  ): Slice => {
    return () => deleteFirst(kysely, table, columns, condition);
  };
  const isOfKey = sql`key = ${key}`;
  const isOfProbe = sql`probe_id in (select id from probes where key = ${key})`;
  const isOfTarget = sql`target_id in (${targetsOf(key)})`;
  return [
    deletes("probe_results", ["probe_id", "run"], isOfProbe),
    deletes("probe_flap_records", ["probe_id", "rule"], isOfProbe),
    deletes("probes", ["id"], isOfKey),
    () => forgetIncidents(kysely, key),
    () => forgetReports(kysely, key),
    deletes("changes", ["seq"], isOfTarget),
    deletes("servers", ["id"], isOfTarget),
    deletes("sandboxes", ["id"], isOfTarget),
    () => forgetRollups(kysely, key),
    deletes("gaps", ["target_id", "from_at_ms"], isOfTarget),
    deletes("flap_records", ["target_id", "rule", "sandbox_id", "server_id"], isOfTarget),
    deletes("targets", ["id"], isOfKey),
    deletes("pool_clocks", ["rule", "region", "key"], isOfKey),
    () => forgetGroups(kysely, "message_threads", key),
    () => forgetGroups(kysely, "group_times", key),
  ];
}

const targetsOf = (key: string) => sql`select id from targets where key = ${key}`;

const incidentsOf = (key: string) =>
  sql`select id from incidents where key = ${key} or target_id in (${targetsOf(key)})`;

const isPendingOf = (key: string) => sql`state = 'pending' and (exists (
  select 1 from outbox_items where notification_seq = notifications.seq
    and incident_id in (${incidentsOf(key)})
) or ${isReportOf(key)})`;

/** A notification of a report that has a row of the key, or was asked for it among others. */
function isReportOf(key: string): RawBuilder<unknown> {
  const name = key.replaceAll(/[\\_%]/g, String.raw`\$&`);
  const places = [`${name}"`, `${name},`, `%,${name}"`, `%,${name},`].map(
    (place) => sql`body like ${`%"key":"${place}%`} escape ${"\\"}`,
  );
  return sql`(body like '%"type":"report"%' and (${sql.join(places, sql` or `)}))`;
}

/** Those that wait are refused before. */
function forgetReports(kysely: Db, key: string): Promise<number> {
  return kysely.transaction().execute(async (trx) => {
    const { rows } = await sql<{ readonly seq: number }>`
      select seq from notifications where ${isReportOf(key)} limit ${notificationsAtOnce}
    `.execute(trx);
    const seqs = rows.map(({ seq }) => seq);
    return seqs.length === 0 ? 0 : deleteNotifications(trx, seqs);
  });
}

/** Groups are named by JSON in which the names of what they are about stand. */
async function forgetGroups(
  kysely: Db,
  table: "message_threads" | "group_times",
  key: string,
): Promise<number> {
  const groups = await kysely.selectFrom(table).select("group_name").distinct().execute();
  const names = groups
    .map(({ group_name: name }) => name)
    .filter((name) => name.includes(JSON.stringify(key)))
    .slice(0, deletedAtOnce);
  return names.length === 0 ? 0 : deleteRows(kysely, table, "group_name", names);
}

/** With their notifications, also where these concern other incidents, too. */
function forgetIncidents(kysely: Db, key: string): Promise<number> {
  return kysely.transaction().execute(async (trx) => {
    const incidents = await sql<{ readonly id: string }>`
      ${incidentsOf(key)} limit ${incidentsAtOnce}
    `.execute(trx);
    const ids = incidents.rows.map(({ id }) => id);
    if (ids.length === 0) return 0;
    const notifications = await trx
      .selectFrom("outbox_items")
      .select("notification_seq as seq")
      .distinct()
      .where("incident_id", "in", ids)
      .where("notification_seq", "is not", null)
      .limit(notificationsAtOnce)
      .execute();
    const seqs = notifications.flatMap(({ seq }) => seq ?? []);
    const isItem =
      seqs.length === 0
        ? sql`incident_id in (${sql.join(ids)})`
        : sql`notification_seq in (${sql.join(seqs)})`;
    const items = await deleteFirst(trx, "outbox_items", ["seq"], isItem);
    if (items === deletedAtOnce) return items;
    for (const seq of seqs) await unblockWaiting(trx, seq);
    const rest = seqs.length > 0 ? deleteNotifications(trx, seqs) : deleteIncidents(trx, ids);
    return items + (await rest);
  });
}

/** Those of all values at once: only the totals have an index by target. */
function forgetRollups(kysely: Db, key: string): Promise<number> {
  return kysely.transaction().execute(async (trx) => {
    const { rows } = await sql<{
      readonly resolution: string;
      readonly start_at_ms: number;
      readonly target_id: number;
    }>`
      select resolution, start_at_ms, target_id from rollups
      where counted = 'server' and target_id in (${targetsOf(key)})
      limit ${rollupsAtOnce}
    `.execute(trx);
    if (rows.length === 0) return 0;
    const cells = rows.flatMap((row) =>
      countedKinds.map(
        (counted) => sql`(${counted}, ${row.resolution},
          cast(${row.start_at_ms} as bigint), cast(${row.target_id} as bigint))`,
      ),
    );
    const { numAffectedRows } = await sql`
      delete from rollups
      where (counted, resolution, start_at_ms, target_id) in (values ${sql.join(cells)})
    `.execute(trx);
    return Number(numAffectedRows ?? 0);
  });
}
