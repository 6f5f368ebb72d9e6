import type { DatabaseSync, SQLInputValue, StatementSync } from "node:sqlite";
import { SqliteDialect, type SqliteDatabase, type SqliteStatement } from "kysely";

/**
 * When the texts of all statements together are longer, all are compiled again. SQLite takes some 20 bytes a character: an
 * insert of many rows takes a fifth of a megabyte, and there is one for each number of rows.
 */
const maxPreparedCharacters = 2 ** 19;

export interface DialectOptions {
  /** Called around each commit: what it writes must be in files that are found by their names. */
  readonly checkFiles?: (() => void) | undefined;
  /** What an error of a statement is thrown as. */
  readonly asError?: ((error: unknown) => unknown) | undefined;
}

/**
 * Lets Kysely talk to the built-in SQLite. Prepared statements are kept: compiling one costs more than running it.
 */
export function sqliteDialect(
  database: DatabaseSync,
  { checkFiles, asError = (error) => error }: DialectOptions = {},
): SqliteDialect {
  const prepared = new Map<string, SqliteStatement>();
  let characters = 0;
  const adapted: SqliteDatabase = {
    close: () => database.close(),
    prepare(sql) {
      const known = prepared.get(sql);
      if (known) return known;
      if (sql === "rollback") return rollbackOf(database);
      characters += sql.length;
      if (characters > maxPreparedCharacters) {
        prepared.clear();
        characters = sql.length;
      }
      const statement = adaptStatement(database.prepare(sql), (execute) => {
        // Without its files no transaction begins: readers in this process would see rows that cannot be stored.
        if (sql === "begin") checkFiles?.();
        try {
          const result = execute();
          if (!database.isTransaction) checkFiles?.();
          return result;
        } catch (error) {
          throw asError(error);
        }
      });
      prepared.set(sql, statement);
      return statement;
    },
  };
  return new SqliteDialect({ database: adapted });
}

/** A full disk or a broken file has rolled back already, and the error of a second time would hide the cause. */
function rollbackOf(database: DatabaseSync): SqliteStatement {
  const rollback = (): { changes: number; lastInsertRowid: number } => {
    if (database.isTransaction) database.exec("rollback");
    return { changes: 0, lastInsertRowid: 0 };
  };
  return { reader: false, all: () => [], run: rollback, iterate: () => [].values() };
}

function adaptStatement(
  statement: StatementSync,
  checked: <Result>(execute: () => Result) => Result,
): SqliteStatement {
  const columns = statement.columns().map(({ name }) => name);
  // The objects that it would give are four times as slow to make, and to read.
  statement.setReturnArrays(true);
  return {
    reader: columns.length > 0,
    all: (parameters) =>
      checked(() => readAll(statement, parameters.map(toSqlValue))).map((values) =>
        toRow(columns, values),
      ),
    run: (parameters) => checked(() => statement.run(...parameters.map(toSqlValue))),
    *iterate(parameters) {
      for (const values of statement.iterate(...parameters.map(toSqlValue))) {
        yield toRow(columns, values);
      }
    },
  };
}

function toRow(columns: readonly string[], values: unknown): Readonly<Record<string, unknown>> {
  const row: Record<string, unknown> = {};
  if (!Array.isArray(values)) return row;
  for (let at = 0; at < columns.length; at += 1) row[columns[at] ?? ""] = values[at];
  return row;
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
    return statement.all(...parameters).map((values) => Object.values(values).map(asNumber));
  } finally {
    statement.setReadBigInts(false);
  }
}

function asNumber(value: unknown): unknown {
  return typeof value === "bigint" ? Number(value) : value;
}

function toSqlValue(value: unknown): SQLInputValue {
  if (value === null || typeof value === "string" || typeof value === "number") return value;
  throw new TypeError(`SQLite takes no value of type ${typeof value}`);
}
