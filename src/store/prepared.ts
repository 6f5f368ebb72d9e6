import { CompiledQuery, sql } from "kysely";
import type { Kysely, QueryResult, RawBuilder } from "kysely";
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

/** What an insertion that meets a row with its key replaces there: these columns, by what would have been inserted. */
export function replacing(columns: readonly string[]): Readonly<Record<string, RawBuilder<never>>> {
  return Object.fromEntries(columns.map((name) => [name, sql.ref<never>(`excluded.${name}`)]));
}
