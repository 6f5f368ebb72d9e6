import { DatabaseSync } from "node:sqlite";
import { createSchema } from "./create-schema.ts";
import { StoreError } from "../store-error.ts";

/** The definition of each table, index, view and trigger, by type and name. */
type Schema = ReadonlyMap<string, string>;

let expected: Schema | undefined;

/**
 * Compares the schema with that of a new store, so that a store which differs is refused when it is
 * opened, and not met as an error of a statement later.
 *
 * @throws {StoreError} at the first difference
 */
export function checkSchema(database: DatabaseSync, file: string): void {
  expected ??= schemaOfNewStore();
  const found = readSchema(database);
  for (const [name, definition] of expected) {
    if (!found.has(name)) throw wrongSchema(file, `${name} is missing`);
    if (found.get(name) !== definition) {
      throw wrongSchema(file, `${name} is not defined as it should be`);
    }
  }
  for (const name of found.keys()) {
    if (!expected.has(name)) throw wrongSchema(file, `${name} does not belong there`);
  }
  checkSequence(database, file);
}

/** Each commit counts on: without its one row, or behind what took its numbers, every commit would fail. */
function checkSequence(database: DatabaseSync, file: string): void {
  const row = database
    .prepare(
      `select count(*) = 1 as is_one, max(value) >= max(
        coalesce((select max(seq) from changes), 0),
        coalesce((select max(revision) from incidents), 0)
      ) as is_ahead from commit_sequence`,
    )
    .get();
  if (row?.["is_one"] !== 1) throw wrongSchema(file, "the table commit_sequence must have one row");
  if (row["is_ahead"] !== 1) {
    throw wrongSchema(file, "the table commit_sequence is behind the changes and incidents");
  }
}

function wrongSchema(file: string, what: string, cause?: unknown): StoreError {
  return new StoreError(
    `The store ${file} does not have the schema that its version says: ${what}. Something else has changed it, or it was restored in part. Undo that change, put back a copy, or move the store away to start with an empty one.`,
    { cause },
  );
}

function schemaOfNewStore(): Schema {
  using database = new DatabaseSync(":memory:");
  createSchema(database);
  return readSchema(database);
}

/** Tables and indexes of SQLite itself, such as statistics, are not part of it. */
function readSchema(database: DatabaseSync): Schema {
  const rows = database
    .prepare("select type, name, sql from sqlite_schema where name not like 'sqlite!_%' escape '!'")
    .all();
  return new Map(
    rows.map(({ type, name, sql }) => [`the ${String(type)} ${String(name)}`, normalize(sql)]),
  );
}

/** Layout and quoted names differ between definitions that mean the same. */
function normalize(sql: unknown): string {
  return String(sql)
    .replaceAll(/--.*$/gm, "")
    .replaceAll(/"(\w+)"/g, "$1")
    .replaceAll(/\s+/g, " ")
    .replaceAll(/ ?([(),]) ?/g, "$1")
    .toLowerCase()
    .trim();
}
