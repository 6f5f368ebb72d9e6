import { DatabaseSync } from "node:sqlite";
import { migrations, type Migration } from "../schema.ts";
import { sequenceFault, sequenceQuery } from "../sql-helpers.ts";
import { refusals, StoreError } from "../store-error.ts";
import { corrupt, isSqliteError } from "./sqlite-error.ts";

/** "swch": distinguishes a store of sandwatch from any other SQLite file. */
const applicationId = 0x73776368;

const dialect = {
  identity: "integer primary key autoincrement",
  bigint: "integer",
  double: "real",
  text: "text",
  table: " strict",
  clustered: " strict, without rowid",
};

/** Creates the schema in an empty database, whole or not at all. */
export function createSchema(database: DatabaseSync, known = migrations): void {
  runMigrations(database, 0, known);
}

/**
 * Brings a store to the present version, whole or not at all.
 *
 * @throws {StoreError} when that is not possible: then nothing is changed
 */
export function migrate(database: DatabaseSync, file: string, known = migrations): void {
  const version = versionOf(database);
  if (version === known.length) return;
  try {
    runMigrations(database, version, known);
  } catch (error) {
    if (database.isTransaction) database.exec("rollback");
    if (!isSqliteError(error)) throw error;
    throw new StoreError(
      `The schema of the store ${file} could not be brought from version ${version} to ${known.length}: ${error.message}. The store was not changed.`,
      { cause: error },
    );
  }
}

function runMigrations(database: DatabaseSync, from: number, known: readonly Migration[]): void {
  const statements = known.slice(from).flatMap((migration) => migration(dialect));
  database.exec(
    `begin immediate; ${statements.join(";\n")};
    pragma application_id = ${applicationId}; pragma user_version = ${known.length}; commit;`,
  );
}

function versionOf(database: DatabaseSync): number {
  return Number(read(database, "pragma user_version"));
}

export function isEmpty(database: DatabaseSync): boolean {
  return (
    read(database, "pragma application_id") === 0 &&
    read(database, "select count(*) from sqlite_schema") === 0
  );
}

/** @throws {StoreError} when the database is not a store of this version or an earlier one; an empty one is none yet */
export function checkOwnership(database: DatabaseSync, file: string, known = migrations): void {
  if (isEmpty(database)) return;
  if (read(database, "pragma application_id") !== applicationId) {
    throw new StoreError(`${file} is a database of another program. Set another store.path.`);
  }
  // Stores from before the first published version counted up from 1, too, but had no such table.
  if (read(database, "select count(*) from sqlite_schema where name = 'commit_sequence'") === 0) {
    throw new StoreError(
      `The store ${file} was written by a version of sandwatch before 1, which this version cannot read. Move it away to start with an empty one.`,
    );
  }
  const version = versionOf(database);
  if (version > known.length) {
    throw refusals.newer(`The store ${file}`, "store.path", version, known.length);
  }
}

/** @throws {StoreError} when it is empty */
export function checkWritten(database: DatabaseSync, file: string): void {
  if (!isEmpty(database)) return;
  throw new StoreError(
    `The store ${file} is empty: the daemon has not run on it yet. Start it with \`sandwatch run\`.`,
  );
}

/** Whether its schema is the present one. */
export function isCurrent(database: DatabaseSync, known = migrations): boolean {
  return versionOf(database) === known.length;
}

/** @throws {StoreError} when only a daemon of this version can bring it to the present version */
export function checkCurrent(database: DatabaseSync, file: string, known = migrations): void {
  if (!isCurrent(database, known)) throw refusals.older(`The store ${file}`);
}

export function checkIntegrity(database: DatabaseSync, file: string): void {
  if (read(database, "pragma quick_check(1)") !== "ok") throw new StoreError(corrupt(file));
}

/** The schema of each version, and of which migrations they are. */
let expected: StoredSchema[] = [];
let expectedOf = migrations;

/**
 * So that a store that was changed or restored in part is refused when it is opened, and not met as an error of a statement
 * later. It has nothing else, either: triggers, indexes on expressions, unique indexes and tables with foreign keys change or
 * refuse what is written. Statistics do no harm.
 *
 * @throws {StoreError} at the first table, index or column that is missing or was changed
 */
export function checkSchema(database: DatabaseSync, file: string, known = migrations): void {
  if (expectedOf !== known) [expected, expectedOf] = [[], known];
  const version = versionOf(database);
  const { names, definitions } = (expected[version] ??= schemaOfNewStore(known.slice(0, version)));
  const [missing] = names.difference(namesIn(database));
  if (missing !== undefined) throw wrongSchema(file, `the ${missing} is missing`);
  const found = definitionsIn(database);
  const changed = [...definitions].find(([what, text]) => found.get(what) !== text);
  if (changed) throw wrongSchema(file, `the ${changed[0]} was changed`);
  const [foreign] = [...found.keys()].filter((what) => !definitions.has(what));
  if (foreign !== undefined) throw wrongSchema(file, `it has the ${foreign} that is not its own`);
  const fault = sequenceFault(database.prepare(sequenceQuery).get());
  if (fault !== null) throw wrongSchema(file, fault);
}

function wrongSchema(file: string, what: string): StoreError {
  const advice = "restore a copy, or move the store away to start with an empty one";
  return refusals.wrongSchema(`The store ${file}`, what, advice);
}

/** Tables, indexes and columns. */
export function namesInNewStore(known: readonly Migration[]): ReadonlySet<string> {
  return schemaOfNewStore(known).names;
}

interface StoredSchema {
  /** Tables, indexes and columns. */
  readonly names: ReadonlySet<string>;
  /** The statements that made them, by type and name. */
  readonly definitions: ReadonlyMap<string, string>;
}

function schemaOfNewStore(known: readonly Migration[]): StoredSchema {
  using database = new DatabaseSync(":memory:");
  createSchema(database, known);
  return { names: namesIn(database), definitions: definitionsIn(database) };
}

/** Without comments and line breaks, which a later version may write in another way. */
function definitionsIn(database: DatabaseSync): ReadonlyMap<string, string> {
  const rows = database.prepare(
    "select type || ' ' || name as what, sql from sqlite_schema where sql is not null and name not like 'sqlite\\_%' escape '\\'",
  );
  const plain = (text: string): string =>
    text.replaceAll(/--.*/g, "").replaceAll(/\s+/g, " ").toLowerCase();
  return new Map(rows.all().map(({ what, sql }) => [String(what), plain(String(sql))]));
}

function namesIn(database: DatabaseSync): ReadonlySet<string> {
  const rows = database.prepare(`
    select type || ' ' || name as name from sqlite_schema
    union all
    select 'column ' || owner.name || '.' || field.name
    from sqlite_schema as owner join pragma_table_info(owner.name) as field
    where owner.type = 'table'
  `);
  return new Set(rows.all().map(({ name }) => String(name)));
}

/** The only value of a statement's first row. */
export function read(database: DatabaseSync, statement: string): unknown {
  return Object.values(database.prepare(statement).get() ?? {})[0];
}
