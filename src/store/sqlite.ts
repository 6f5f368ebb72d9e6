import type { DatabaseSync, SQLInputValue, StatementSync } from "node:sqlite";
import {
  type CompiledQuery,
  type DatabaseConnection,
  type Driver,
  SqliteDialect,
  type SqliteDatabase,
  SqliteDriver,
  type SqliteStatement,
} from "kysely";

/** More distinct statements than the store has; a bound all the same. */
const maxPreparedStatements = 256;

/**
 * Lets Kysely talk to the built-in SQLite. Prepared statements are kept: compiling one costs more
 * than running it.
 */
export function sqliteDialect(database: DatabaseSync, waits?: StatementWaits): SqliteDialect {
  const adapted = adaptDatabase(database, waits);
  return waits ? new WaitingDialect(adapted, waits) : new SqliteDialect({ database: adapted });
}

/** What is waited for before somebody is told what a statement did or found. */
export interface StatementWaits {
  /** A parameter was written. */
  written?(bytes: number): void;
  afterStatement(): Promise<void>;
  /** After a transaction came to nothing. */
  rolledBack(): void;
}

class WaitingDialect extends SqliteDialect {
  private readonly database: SqliteDatabase;
  private readonly waits: StatementWaits;

  constructor(database: SqliteDatabase, waits: StatementWaits) {
    super({ database });
    this.database = database;
    this.waits = waits;
  }

  override createDriver(): Driver {
    return new WaitingDriver(this.database, this.waits);
  }
}

class WaitingDriver extends SqliteDriver {
  private readonly waits: StatementWaits;

  constructor(database: SqliteDatabase, waits: StatementWaits) {
    super({ database });
    this.waits = waits;
  }

  override async acquireConnection(): Promise<DatabaseConnection> {
    const connection = await super.acquireConnection();
    return {
      executeQuery: async <Row>(query: CompiledQuery) => {
        const result = await connection.executeQuery<Row>(query);
        if (query.sql === "rollback") this.waits.rolledBack();
        else await this.waits.afterStatement();
        return result;
      },
      streamQuery: (query, chunkSize) => connection.streamQuery(query, chunkSize),
    };
  }
}

function adaptDatabase(database: DatabaseSync, waits?: StatementWaits): SqliteDatabase {
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

function adaptStatement(statement: StatementSync, waits?: StatementWaits): SqliteStatement {
  const toValue = (value: unknown): SQLInputValue => {
    const sqlValue = toSqlValue(value);
    if (typeof sqlValue === "string" || sqlValue instanceof Uint8Array) {
      waits?.written?.(sqlValue.length);
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
