import { DatabaseSync } from "node:sqlite";
import { schemaStatements, schemaVersion } from "../schema.ts";
import { corrupt, StoreError } from "../store-error.ts";

/** "swch": distinguishes a store of sandwatch from any other SQLite file. */
const applicationId = 0x73776368;

/** Creates the schema in an empty database, whole or not at all. */
export function createSchema(database: DatabaseSync): void {
  const statements = schemaStatements({
    identity: "integer primary key autoincrement",
    bigint: "integer",
    double: "real",
    text: "text",
    table: " strict",
    clustered: " strict, without rowid",
  });
  database.exec(
    `begin immediate; ${statements.join(";\n")};
    pragma application_id = ${applicationId}; pragma user_version = ${schemaVersion}; commit;`,
  );
}

export function isEmpty(database: DatabaseSync): boolean {
  return (
    read(database, "pragma application_id") === 0 &&
    read(database, "select count(*) from sqlite_schema") === 0
  );
}

/** @throws {StoreError} when the database is not a store of this version; an empty one is none yet */
export function checkOwnership(database: DatabaseSync, file: string): void {
  if (isEmpty(database)) return;
  if (read(database, "pragma application_id") !== applicationId) {
    throw new StoreError(`${file} is a database of another program. Set another store.path.`);
  }
  // Stores from before the first release counted up from 1, too, but had no such table.
  if (read(database, "select count(*) from sqlite_schema where name = 'commit_sequence'") === 0) {
    throw new StoreError(
      `The store ${file} was written by a version of sandwatch before 1, which this version cannot read. Move it away to start with an empty one.`,
    );
  }
  const version = Number(read(database, "pragma user_version"));
  if (version > schemaVersion) {
    throw new StoreError(
      `The store ${file} was written by a newer version of sandwatch (its schema version is ${version}; this version supports ${schemaVersion}). Use the newer version, or set another store.path.`,
    );
  }
}

/** @throws {StoreError} when it is empty */
export function checkWritten(database: DatabaseSync, file: string): void {
  if (!isEmpty(database)) return;
  throw new StoreError(
    `The store ${file} is empty: the daemon has not run on it yet. Start it with \`sandwatch run\`.`,
  );
}

export function checkIntegrity(database: DatabaseSync, file: string): void {
  if (read(database, "pragma quick_check(1)") !== "ok") throw new StoreError(corrupt(file));
}

let expected: ReadonlySet<string> | undefined;

/**
 * So that a store that was changed or restored in part is refused when it is opened, and not met as an error of a statement
 * later. What is there beside the schema does no harm.
 *
 * @throws {StoreError} at the first table, index or column that is missing
 */
export function checkSchema(database: DatabaseSync, file: string): void {
  expected ??= namesInNewStore();
  const [missing] = expected.difference(namesIn(database));
  if (missing !== undefined) throw wrongSchema(file, `the ${missing} is missing`);
  // Each commit counts on: without its one row, or behind what took its numbers, every commit would fail.
  if (read(database, "select count(*) from commit_sequence") !== 1) {
    throw wrongSchema(file, "the table commit_sequence must have one row");
  }
  const taken = `select max(
    coalesce((select max(seq) from changes), 0), coalesce((select max(revision) from incidents), 0)
  ) > value from commit_sequence`;
  if (read(database, taken) === 1) {
    throw wrongSchema(file, "the table commit_sequence is behind the changes and incidents");
  }
}

function wrongSchema(file: string, what: string): StoreError {
  return new StoreError(
    `The store ${file} does not have the schema that its version says: ${what}. Something else has changed it, or it was restored in part. Undo that change, restore a copy, or move the store away to start with an empty one.`,
  );
}

function namesInNewStore(): ReadonlySet<string> {
  using database = new DatabaseSync(":memory:");
  createSchema(database);
  return namesIn(database);
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
function read(database: DatabaseSync, statement: string): unknown {
  return Object.values(database.prepare(statement).get() ?? {})[0];
}
