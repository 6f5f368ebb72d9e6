import type { DatabaseSync, SQLInputValue, StatementSync } from "node:sqlite";
import { SqliteDialect } from "kysely";
import type { SqliteDatabase, SqliteStatement } from "kysely";
import type { StoreFiles } from "./store-files.ts";

/** More distinct statements than the store has; a bound all the same. */
const maxPreparedStatements = 256;

/**
 * Lets Kysely talk to the built-in SQLite. Prepared statements are kept: compiling one costs more
 * than running it.
 *
 * @param files checked around each commit: what it writes must be in files that are found by their names
 */
export function sqliteDialect(database: DatabaseSync, files?: StoreFiles): SqliteDialect {
  return new SqliteDialect({ database: adaptDatabase(database, files) });
}

function adaptDatabase(database: DatabaseSync, files: StoreFiles | undefined): SqliteDatabase {
  const prepared = new Map<string, SqliteStatement>();
  const prepare = (sql: string): SqliteStatement => {
    const known = prepared.get(sql);
    if (known) return known;
    if (sql === "rollback") return rollbackOf(database);
    if (prepared.size >= maxPreparedStatements) prepared.clear();
    const statement = adaptStatement(database.prepare(sql));
    prepared.set(sql, statement);
    return statement;
  };
  return {
    close: () => database.close(),
    prepare: (sql) => (files ? watched(prepare(sql), sql, database, files) : prepare(sql)),
  };
}

function watched(
  statement: SqliteStatement,
  sql: string,
  database: DatabaseSync,
  files: StoreFiles,
): SqliteStatement {
  const around = <Result>(execute: () => Result): Result => {
    // What would not be stored is not begun: whoever reads it here would report it.
    if (sql === "begin") files.checkLast();
    const result = execute();
    if (!database.isTransaction) files.check();
    return result;
  };
  return {
    ...statement,
    all: (parameters) => around(() => statement.all(parameters)),
    run: (parameters) => around(() => statement.run(parameters)),
  };
}

/**
 * A full disk or a broken file has rolled back already, and a second time is an error: it would hide
 * the one that says what happened.
 */
function rollbackOf(database: DatabaseSync): SqliteStatement {
  const rollback = (): { changes: number; lastInsertRowid: number } => {
    if (database.isTransaction) database.exec("rollback");
    return { changes: 0, lastInsertRowid: 0 };
  };
  return { reader: false, all: () => [], run: rollback, iterate: () => [].values() };
}

function adaptStatement(statement: StatementSync): SqliteStatement {
  return {
    reader: statement.columns().length > 0,
    all: (parameters) => readAll(statement, parameters.map(toSqlValue)),
    run: (parameters) => statement.run(...parameters.map(toSqlValue)),
    iterate: (parameters) => statement.iterate(...parameters.map(toSqlValue)),
  };
}

/** One number that is out of range would make all rows unreadable: it is read as what it is nearly. */
function readAll(statement: StatementSync, parameters: readonly SQLInputValue[]): unknown[] {
  try {
    return statement.all(...parameters);
  } catch (error) {
    const isOutOfRange =
      error instanceof Error && "code" in error && error.code === "ERR_OUT_OF_RANGE";
    if (!isOutOfRange) throw error;
  }
  statement.setReadBigInts(true);
  try {
    return statement
      .all(...parameters)
      .map((row) => Object.fromEntries(Object.entries(row).map(asNumber)));
  } finally {
    statement.setReadBigInts(false);
  }
}

function asNumber([column, value]: [string, unknown]): [string, unknown] {
  return [column, typeof value === "bigint" ? Number(value) : value];
}

function toSqlValue(value: unknown): SQLInputValue {
  if (value === null || typeof value === "string" || typeof value === "number") return value;
  if (typeof value === "bigint" || value instanceof Uint8Array) return value;
  throw new TypeError(`SQLite takes no value of type ${typeof value}`);
}
