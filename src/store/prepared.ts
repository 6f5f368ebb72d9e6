import { CompiledQuery } from "kysely";
import type { Kysely, QueryResult } from "kysely";
import type { Tables } from "./tables.ts";

/**
 * A statement that is run again and again, built once. What stands in it for its parameters is
 * replaced by others in the same order.
 */
export function prepare(query: { compile(): CompiledQuery }) {
  const compiled = query.compile();
  return (db: Kysely<Tables>, parameters: readonly unknown[]): Promise<QueryResult<unknown>> =>
    db.executeQuery({ ...compiled, parameters });
}

/**
 * Inserts rows with the same columns in the same order. The statement is built once for each number of
 * them, whichever database it is for: to build one of many rows costs as much as to run it.
 */
export function prepareRows<Row extends object>(
  insert: (db: Kysely<Tables>, rows: readonly Row[]) => { compile(): CompiledQuery },
) {
  // Their texts alone: all else of a statement would keep what the first rows held.
  const known = new Map<number, string>();
  return (db: Kysely<Tables>, rows: readonly Row[]): Promise<QueryResult<unknown>> => {
    let text = known.get(rows.length);
    if (text === undefined) known.set(rows.length, (text = insert(db, rows).compile().sql));
    const parameters: unknown[] = [];
    for (const row of rows) parameters.push(...Object.values(row));
    return db.executeQuery(CompiledQuery.raw(text, parameters));
  };
}
