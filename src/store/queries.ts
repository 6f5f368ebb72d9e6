import { sql } from "kysely";
import type { Kysely, RawBuilder, Transaction } from "kysely";
import type { Tables } from "./tables.ts";

/** Whether a text begins with another one, as a range, so that an index of the column serves. */
export function beginsWith(column: string, text: string): RawBuilder<boolean> {
  const reference = sql.ref(column);
  return sql<boolean>`(${reference} >= ${text} and ${reference} < ${`${text}\u{10ffff}`})`;
}

/** Whether a row comes after a place, or before it, in the order of its columns. */
export function isBeyond(
  columns: readonly string[],
  comparison: "<" | ">",
  place: readonly unknown[],
): RawBuilder<boolean> {
  const references = sql.join(columns.map((column) => sql.ref(column)));
  return sql<boolean>`(${references}) ${sql.raw(comparison)} (${sql.join(place)})`;
}

/** Reads several tables as they were at one moment: polls may be committed meanwhile, also by another process. */
export function readConsistently<Value>(
  reader: Kysely<Tables>,
  read: (trx: Transaction<Tables>) => Promise<Value>,
): Promise<Value> {
  // SQLite isolates every transaction like this.
  return reader.transaction().setIsolationLevel("repeatable read").execute(read);
}

/**
 * Fills a page: rows behind it take the place of those that cannot be read.
 *
 * @param select selects at most `limit` rows after one, from the beginning after null
 */
export async function fillPage<Row, Value>(
  limit: number,
  select: (after: Row | null, limit: number) => Promise<readonly Row[]>,
  read: (row: Row) => Value | null,
): Promise<readonly Value[]> {
  const page: Value[] = [];
  let after: Row | null = null;
  for (;;) {
    const wanted = limit - page.length;
    const rows: readonly Row[] = await select(after, wanted);
    page.push(...rows.flatMap((row) => read(row) ?? []));
    after = rows.at(-1) ?? null;
    if (rows.length < wanted || page.length >= limit) return page;
  }
}
