import { CompiledQuery, PostgresAdapter, sql } from "kysely";
import type { Insertable, QueryResult, RawBuilder, Transaction } from "kysely";
import { batches, paced } from "../lib/iterables.ts";
import type { Db, Tables } from "./tables.ts";

/** Whether a text begins with another one, as a range, so that an index of the column serves. */
export function beginsWith(column: string, text: string): RawBuilder<boolean> {
  const reference = sql.ref(column);
  return sql<boolean>`(${reference} >= ${text} and ${reference} < ${`${text}\u{10ffff}`})`;
}

/** Whether a row comes after another one, or before it, in the order of some columns. */
export function isBeyond(
  columns: readonly string[],
  comparison: "<" | ">" | "<=" | ">=",
  values: readonly unknown[],
): RawBuilder<boolean> {
  const references = sql.join(columns.map((column) => sql.ref(column)));
  return sql<boolean>`(${references}) ${sql.raw(comparison)} (${sql.join(values)})`;
}

/** A position in a list that is sorted by a moment, UTC milliseconds, and an id. */
export interface ListCursor {
  readonly atMs: number;
  readonly id: string;
}

/** Reads several tables as they were at one moment: polls may be committed meanwhile, also by another process. */
export function readConsistently<Value>(
  reader: Db,
  read: (trx: Transaction<Tables>) => Promise<Value>,
): Promise<Value> {
  // SQLite isolates every transaction like this.
  return reader.transaction().setIsolationLevel("repeatable read").execute(read);
}

/**
 * How many rows one statement looks at, at most: everything else waits for it, and a rare selection matches few of very
 * many rows.
 */
export const lookedAtOnce = 5_000;

/**
 * Fills a page: rows behind it replace those that cannot be read.
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

/** So few that a poll that waits for the store waits briefly. */
export const deletedAtOnce = 500;

/**
 * Deletes some rows of a table.
 *
 * @param key the columns that identify a row
 * @returns whether there may be more
 */
export async function deleteSome(
  db: Db,
  table: keyof Tables,
  key: readonly string[],
  condition: RawBuilder<unknown>,
): Promise<boolean> {
  return (await deleteFirst(db, table, key, condition)) === deletedAtOnce;
}

/** @returns how many were deleted */
export async function deleteFirst(
  db: Db,
  table: keyof Tables,
  key: readonly string[],
  condition: RawBuilder<unknown>,
): Promise<number> {
  const [from, columns] = [sql.table(table), namesOf(key)];
  const { numAffectedRows } = await sql`
    delete from ${from} where (${columns}) in (
      select ${columns} from ${from} where ${condition} limit ${deletedAtOnce}
    )
  `.execute(db);
  return Number(numAffectedRows ?? 0);
}

/** Deletes the rows with some values of a column. @returns how many */
export async function deleteRows(
  db: Db,
  table: keyof Tables,
  column: string,
  values: readonly unknown[],
): Promise<number> {
  const isOne = sql`${sql.ref(column)} in (${sql.join(values)})`;
  const { numAffectedRows } = await sql`delete from ${sql.table(table)} where ${isOne}`.execute(db);
  return Number(numAffectedRows ?? 0);
}

/** Deletes the row with the key of another one. */
export async function deleteRow(
  db: Db,
  table: keyof Tables,
  key: readonly string[],
  row: object,
): Promise<void> {
  const values: Readonly<Record<string, unknown>> = { ...row };
  const isOne = sql`(${namesOf(key)}) = (${sql.join(key.map((column) => values[column]))})`;
  await sql`delete from ${sql.table(table)} where ${isOne}`.execute(db);
}

/**
 * The rows of some values, of which those that are missing are added. Always looked up: a transaction that adds some may be
 * rolled back, so ids that it saw must not outlive it.
 *
 * @param count how many there are when none is missing
 */
export async function findOrAdd<Row>(
  count: number,
  find: () => Promise<readonly Row[]>,
  add: () => Promise<unknown>,
): Promise<readonly Row[]> {
  const found = await find();
  if (found.length === count) return found;
  await add();
  return find();
}

/** Takes the next numbers of the store's sequence, within the transaction that uses them, and gives the last of them. */
export async function takeSequence(trx: Db, count: number): Promise<number> {
  const { last } = await trx
    .updateTable("commit_sequence")
    .set(({ eb }) => ({ value: eb("value", "+", count) }))
    .returning("value as last")
    .executeTakeFirstOrThrow();
  return last;
}

/** The row of {@link sequenceFault}. */
export const sequenceQuery = `select count(*) as "rows", max(value) < (select max(taken) from (
    select max(seq) as taken from changes union all select max(revision) from incidents
  ) as numbers) as behind from commit_sequence`;

/** Every commit would fail without the one row of the sequence, or behind what took its numbers. Null: it is sound. */
export function sequenceFault(found: Readonly<Record<string, unknown>> = {}): string | null {
  if (found["rows"] !== 1) return "the table commit_sequence must have one row";
  const isBehind = found["behind"] === true || found["behind"] === 1;
  return isBehind ? "the table commit_sequence is behind the changes and incidents" : null;
}

/** The last number that was committed. */
export async function lastSequence(reader: Db): Promise<number> {
  const row = await reader.selectFrom("commit_sequence").select("value").executeTakeFirstOrThrow();
  return row.value;
}

/**
 * A statement over a number of rows of the same form. Its text is built once for each number, form and database: to build
 * one of many rows costs as much as to run it.
 *
 * @param build builds the statement of some rows
 * @param parametersOf the parameters that one row adds to it, in their order there
 */
export function prepareRows<Row extends object>(
  build: (db: Db, rows: readonly Row[]) => { compile(): CompiledQuery },
  parametersOf: (row: Row) => readonly unknown[] = Object.values,
) {
  // Only texts are kept: a whole statement would also keep the values of the first rows.
  const known = new WeakMap<object, Map<string, string>>();
  return (db: Db, rows: readonly Row[]): Promise<QueryResult<unknown>> => {
    const { adapter } = db.getExecutor();
    let texts = known.get(adapter);
    if (!texts) known.set(adapter, (texts = new Map()));
    const form = `${rows.length} ${Object.keys(rows[0] ?? {}).join(" ")}`;
    let text = texts.get(form);
    if (text === undefined) texts.set(form, (text = build(db, rows).compile().sql));
    return db.executeQuery(CompiledQuery.raw(text, rows.flatMap(parametersOf)));
  };
}

/** A fixed number keeps statements few and reusable. */
export const rowsPerInsert = 50;
const rowsPerJson = 500;

/**
 * Writes rows of a table, some at a time between turns of the event loop. A row that has the key of a stored one replaces
 * it, if there is more than the key.
 *
 * @param kept columns of a stored row that stay as they are
 * @param equal columns of which a stored row must have the same values; otherwise it stays as it is
 * @returns writes rows, and gives how many were written
 */
export function prepareUpsert<Name extends keyof Tables>(
  table: Name,
  key: readonly (keyof Tables[Name] & string)[],
  kept: readonly (keyof Tables[Name] & string)[] = [],
  equal: readonly (keyof Tables[Name] & string)[] = [],
) {
  const fixed = new Set<string>([...key, ...kept]);
  const statementOf = (columns: readonly string[], source: RawBuilder<unknown>) => {
    const replaced = columns
      .filter((column) => !fixed.has(column))
      .map((column) => sql`${sql.ref(column)} = ${sql.ref(`excluded.${column}`)}`);
    const isSame = equal.map(
      (column) => sql`${sql.ref(`${table}.${column}`)} = ${sql.ref(`excluded.${column}`)}`,
    );
    const condition = isSame.length === 0 ? sql`` : sql`where ${sql.join(isSame, sql` and `)}`;
    const update = sql`update set ${sql.join(replaced)} ${condition}`;
    return sql`
      insert into ${sql.table(table)} (${namesOf(columns)}) ${source}
      on conflict (${namesOf(key)}) do ${replaced.length === 0 ? sql`nothing` : update}
    `;
  };
  const upsertValues = prepareRows((db, rows: readonly Insertable<Tables[Name]>[]) => {
    const values = rows.map((row) => sql`(${sql.join(Object.values(row))})`);
    const statement = statementOf(Object.keys(rows[0] ?? {}), sql`values ${sql.join(values)}`);
    return { compile: () => statement.compile(db) };
  });
  /** For PostgreSQL, which would parse and plan all the values each time. */
  const upsertJson = (db: Db, rows: readonly Insertable<Tables[Name]>[]) => {
    const columns = Object.keys(rows[0] ?? {});
    const json = JSON.stringify(rows, (_, value: unknown) =>
      typeof value === "string" ? storableText(value) : value,
    );
    const source = sql`select ${namesOf(columns)} from json_populate_recordset(null::${sql.table(table)}, ${json})`;
    return statementOf(columns, source).execute(db);
  };
  return async (db: Db, rows: Iterable<Insertable<Tables[Name]>>): Promise<number> => {
    const isPostgres = db.getExecutor().adapter instanceof PostgresAdapter;
    const [upsert, most] = isPostgres ? [upsertJson, rowsPerJson] : [upsertValues, rowsPerInsert];
    let written = 0;
    for await (const some of paced(batches(rows, most))) {
      const { numAffectedRows = 0n } = await upsert(db, some);
      written += Number(numAffectedRows);
    }
    return written;
  };
}

const namesOf = (columns: readonly string[]) => sql.join(columns.map((column) => sql.ref(column)));

// With the flag `u` a surrogate is matched only where it is not one of a pair.
const unstorable = /[\0\p{Surrogate}]/gu;

/** A text as every database can keep it: the NUL character and halves of surrogate pairs as JSON writes them. */
export function storableText<Text extends string | null>(text: Text): Text | string {
  const escape = (character: string): string =>
    `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`;
  return text?.replaceAll(unstorable, escape) ?? text;
}
