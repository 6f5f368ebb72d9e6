import { PostgresAdapter, sql } from "kysely";
import type { PoolClock } from "../alerts/judge-pools.ts";
import { batches, paced } from "../lib/iterables.ts";
import { prepareUpsert } from "./sql-helpers.ts";
import type { Db, Tables } from "./tables.ts";

/** All that a poll writes into the row of its target. */
export type PolledTarget = Omit<Tables["targets"], "id" | "region" | "key" | "rolled_up_to_ms"> & {
  readonly id: number;
};

const rowsAtOnce = 500;

export async function writeTargets(trx: Db, rows: Iterable<PolledTarget>): Promise<void> {
  if (isPostgres(trx)) return writeInOne(trx, rows);
  for (const { id, ...columns } of rows) {
    await trx.updateTable("targets").set(columns).where("id", "=", id).execute();
  }
}

/** PostgreSQL answers each statement over the network. */
async function writeInOne(trx: Db, rows: Iterable<PolledTarget>): Promise<void> {
  for (const some of batches(rows, rowsAtOnce)) {
    const { id: _, ...columns } = some[0] ?? {};
    const set = Object.keys(columns).map(
      (name) => sql`${sql.ref(name)} = ${sql.ref(`polled.${name}`)}`,
    );
    await sql`
      update targets set ${sql.join(set)}
      from json_populate_recordset(null::targets, ${JSON.stringify(some)}) as polled
      where targets.id = polled.id
    `.execute(trx);
  }
}

/** The columns that differ after a poll that changed nothing, with their types. */
const clockColumns = [
  ["attempted_polls", "bigint"],
  ["attempted_ms", "double precision"],
  ["observed_polls", "bigint"],
  ["observed_ms", "double precision"],
  ["last_poll_at_ms", "bigint"],
  ["last_success_at_ms", "bigint"],
  ["recorded_to_ms", "bigint"],
] as const;

const clockAssignments = clockColumns
  .map(([name, type], index) => `${name} = cast(clocks.value ->> ${index + 1} as ${type})`)
  .join(", ");

/** Writes the clocks of targets of which nothing else differs. */
export async function writeClocks(trx: Db, rows: Iterable<PolledTarget>): Promise<void> {
  const source = isPostgres(trx) ? "json_array_elements" : "json_each";
  for await (const some of paced(batches(rows, rowsAtOnce))) {
    const values = some.map((row) => [row.id, ...clockColumns.map(([name]) => row[name])]);
    await sql`
      update targets set ${sql.raw(clockAssignments)}
      from ${sql.raw(source)}(${JSON.stringify(values)}) as clocks
      where targets.id = cast(clocks.value ->> 0 as bigint)
    `.execute(trx);
  }
}

const upsertPoolClocks = prepareUpsert("pool_clocks", ["rule", "region", "key"]);

export async function writePoolClocks(trx: Db, clocks: Iterable<PoolClock>): Promise<void> {
  const rows = Array.from(clocks, ({ rule, region, key, ms }) => {
    return { rule, region: region ?? "", key: key ?? "", ms };
  });
  await upsertPoolClocks(trx, rows);
}

function isPostgres(db: Db): boolean {
  return db.getExecutor().adapter instanceof PostgresAdapter;
}
