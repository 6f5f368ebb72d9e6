import type { DatabaseSync, SQLInputValue, StatementSync } from "node:sqlite";
import {
  type DatabaseConnection,
  type Driver,
  SqliteDialect,
  type SqliteDatabase,
  SqliteDriver,
  type SqliteStatement,
} from "kysely";
import type { CommitWaits } from "./commit-waits.ts";

/** More distinct statements than the store has; a bound all the same. */
const maxPreparedStatements = 256;

/**
 * Lets Kysely talk to the built-in SQLite. Prepared statements are kept: compiling one costs more
 * than running it.
 */
export function sqliteDialect(database: DatabaseSync, waits?: CommitWaits): SqliteDialect {
  const adapted = adaptDatabase(database, waits);
  return waits ? new CommitWaitsDialect(adapted, waits) : new SqliteDialect({ database: adapted });
}

class CommitWaitsDialect extends SqliteDialect {
  private readonly database: SqliteDatabase;
  private readonly waits: CommitWaits;

  constructor(database: SqliteDatabase, waits: CommitWaits) {
    super({ database });
    this.database = database;
    this.waits = waits;
  }

  override createDriver(): Driver {
    return new CommitWaitsDriver(this.database, this.waits);
  }
}

class CommitWaitsDriver extends SqliteDriver {
  private readonly waits: CommitWaits;

  constructor(database: SqliteDatabase, waits: CommitWaits) {
    super({ database });
    this.waits = waits;
  }

  override async beginTransaction(connection: DatabaseConnection): Promise<void> {
    this.waits.begins();
    try {
      await super.beginTransaction(connection);
    } catch (error) {
      this.waits.rolledBack();
      throw error;
    }
  }

  override async commitTransaction(connection: DatabaseConnection): Promise<void> {
    this.waits.prepare();
    await super.commitTransaction(connection);
    await this.waits.committed();
  }

  override async rollbackTransaction(connection: DatabaseConnection): Promise<void> {
    await super.rollbackTransaction(connection);
    this.waits.rolledBack();
  }
}

function adaptDatabase(database: DatabaseSync, waits?: CommitWaits): SqliteDatabase {
  const prepared = new Map<string, SqliteStatement>();
  return {
    close: () => database.close(),
    prepare(sql) {
      const known = prepared.get(sql);
      if (known) return known;
      if (sql === "rollback") return rollbackOf(database);
      if (prepared.size >= maxPreparedStatements) prepared.clear();
      const statement = adaptStatement(database.prepare(sql), waits);
      prepared.set(sql, statement);
      return statement;
    },
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

function adaptStatement(statement: StatementSync, waits?: CommitWaits): SqliteStatement {
  const toValue = (value: unknown): SQLInputValue => {
    const sqlValue = toSqlValue(value);
    if (typeof sqlValue === "string" || sqlValue instanceof Uint8Array) {
      waits?.written(sqlValue.length);
    }
    return sqlValue;
  };
  return {
    reader: statement.columns().length > 0,
    all: (parameters) => statement.all(...parameters.map(toSqlValue)),
    run: (parameters) => statement.run(...parameters.map(toValue)),
    iterate: (parameters) => statement.iterate(...parameters.map(toSqlValue)),
  };
}

function toSqlValue(value: unknown): SQLInputValue {
  if (value === null || typeof value === "string" || typeof value === "number") return value;
  if (typeof value === "bigint" || value instanceof Uint8Array) return value;
  throw new TypeError(`SQLite takes no value of type ${typeof value}`);
}
