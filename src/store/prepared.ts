import { CompiledQuery, sql } from "kysely";
import type { Insertable, Kysely, QueryResult } from "kysely";
import { batches, paced } from "../lib/paced.ts";
import type { Tables } from "./tables.ts";

/**
 * A statement over a number of rows of the same form. Its text is built once for each number and database: to build
 * one of many rows costs as much as to run it.
 *
 * @param build builds the statement of some rows
 * @param parametersOf the parameters that one row adds to it, in their order there
 */
export function prepareRows<Row extends object>(
  build: (db: Kysely<Tables>, rows: readonly Row[]) => { compile(): CompiledQuery },
  parametersOf: (row: Row) => readonly unknown[] = Object.values,
) {
  // Texts alone: all else of a statement would keep what the first rows held.
  const known = new WeakMap<object, Map<number, string>>();
  return (db: Kysely<Tables>, rows: readonly Row[]): Promise<QueryResult<unknown>> => {
    const { adapter } = db.getExecutor();
    let texts = known.get(adapter);
    if (!texts) known.set(adapter, (texts = new Map()));
    let text = texts.get(rows.length);
    if (text === undefined) texts.set(rows.length, (text = build(db, rows).compile().sql));
    return db.executeQuery(CompiledQuery.raw(text, rows.flatMap(parametersOf)));
  };
}

/** A fixed number keeps statements few and reusable. */
const rowsPerInsert = 50;

/**
 * Writes rows of a table, some at a time between turns of the event loop. A row that has the key of a stored one replaces it.
 *
 * @param kept columns of a stored row that stay as they are
 */
export function prepareUpsert<Name extends keyof Tables>(
  table: Name,
  key: readonly (keyof Tables[Name] & string)[],
  kept: readonly (keyof Tables[Name] & string)[] = [],
) {
  const fixed = new Set<string>([...key, ...kept]);
  const upsert = prepareRows((db, rows: readonly Insertable<Tables[Name]>[]) => {
    const columns = Object.keys(rows[0] ?? {});
    const values = rows.map((row) => sql`(${sql.join(Object.values(row))})`);
    const replaced = columns
      .filter((column) => !fixed.has(column))
      .map((column) => sql`${sql.ref(column)} = ${sql.ref(`excluded.${column}`)}`);
    const statement = sql`
      insert into ${sql.table(table)} (${sql.join(columns.map((column) => sql.ref(column)))})
      values ${sql.join(values)}
      on conflict (${sql.join(key.map((column) => sql.ref(column)))})
      do update set ${sql.join(replaced)}
    `;
    return { compile: () => statement.compile(db) };
  });
  return async (db: Kysely<Tables>, rows: Iterable<Insertable<Tables[Name]>>): Promise<void> => {
    for await (const some of paced(batches(rows, rowsPerInsert))) await upsert(db, some);
  };
}
