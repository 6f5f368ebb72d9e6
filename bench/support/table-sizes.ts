import { sql, type Kysely } from "kysely";
import type { Tables } from "../../src/store/tables.ts";

export type Sizes = ReadonlyMap<string, number>;

/** What tables take with their indexes. Bytes. */
export async function readSizes(kysely: Kysely<Tables>): Promise<Sizes> {
  const { rows } = await sql<{ name: string; bytes: number }>`
    select coalesce(sqlite_schema.tbl_name, dbstat.name) as name, sum(pgsize) as bytes
    from dbstat left join sqlite_schema on sqlite_schema.name = dbstat.name
    group by 1
  `.execute(kysely);
  return new Map(rows.map(({ name, bytes }) => [name, bytes]));
}
