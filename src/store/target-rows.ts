import { PostgresAdapter, sql } from "kysely";
import { batches } from "../lib/iterables.ts";
import type { Db, Tables } from "./tables.ts";

/** All that a poll writes into the row of its target. */
export type PolledTarget = Omit<Tables["targets"], "id" | "region" | "key" | "rolled_up_to_ms"> & {
  readonly id: number;
};

const rowsAtOnce = 500;

export async function writeTargets(trx: Db, rows: Iterable<PolledTarget>): Promise<void> {
  if (trx.getExecutor().adapter instanceof PostgresAdapter) return writeInOne(trx, rows);
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
