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

/** What has to be waited for before somebody is told what a statement did or found. */
export type AfterStatement = () => Promise<void>;

/**
 * Lets Kysely talk to the built-in SQLite. Prepared statements are kept: compiling one costs more
 * than running it.
 */
export function sqliteDialect(
  database: DatabaseSync,
  afterStatement?: AfterStatement,
  beforeTransaction?: () => void,
): SqliteDialect {
  const adapted = adaptDatabase(database);
  return afterStatement
    ? new WaitingDialect(adapted, afterStatement, beforeTransaction)
    : new SqliteDialect({ database: adapted });
}

class WaitingDialect extends SqliteDialect {
  private readonly database: SqliteDatabase;
  private readonly afterStatement: AfterStatement;
  private readonly beforeTransaction: (() => void) | undefined;

  constructor(
    database: SqliteDatabase,
    afterStatement: AfterStatement,
    beforeTransaction: (() => void) | undefined,
  ) {
    super({ database });
    this.database = database;
    this.afterStatement = afterStatement;
    this.beforeTransaction = beforeTransaction;
  }

  override createDriver(): Driver {
    return new WaitingDriver(this.database, this.afterStatement, this.beforeTransaction);
  }
}

class WaitingDriver extends SqliteDriver {
  private readonly afterStatement: AfterStatement;
  private readonly beforeTransaction: (() => void) | undefined;

  constructor(
    database: SqliteDatabase,
    afterStatement: AfterStatement,
    beforeTransaction: (() => void) | undefined,
  ) {
    super({ database });
    this.afterStatement = afterStatement;
    this.beforeTransaction = beforeTransaction;
  }

  override async acquireConnection(): Promise<DatabaseConnection> {
    const connection = await super.acquireConnection();
    return {
      executeQuery: async <Row>(query: CompiledQuery) => {
        if (query.sql === "begin") this.beforeTransaction?.();
        const result = await connection.executeQuery<Row>(query);
        // A beginning tells nothing, and Kysely does not roll back one that failed.
        if (query.sql !== "begin") await this.afterStatement();
        return result;
      },
      streamQuery() {
        throw new Error("a stream would not wait for the disk");
      },
    };
  }
}

function adaptDatabase(database: DatabaseSync): SqliteDatabase {
  const prepared = new Map<string, SqliteStatement>();
  return {
    close: () => database.close(),
    prepare(sql) {
      const known = prepared.get(sql);
      if (known) return known;
      if (sql === "rollback") return rollbackOf(database);
      if (prepared.size >= maxPreparedStatements) prepared.clear();
      const statement = adaptStatement(database.prepare(sql));
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

function adaptStatement(statement: StatementSync): SqliteStatement {
  return {
    reader: statement.columns().length > 0,
    all: (parameters) => statement.all(...parameters.map(toSqlValue)),
    run: (parameters) => statement.run(...parameters.map(toSqlValue)),
    iterate: (parameters) => statement.iterate(...parameters.map(toSqlValue)),
  };
}

function toSqlValue(value: unknown): SQLInputValue {
  if (value === null || typeof value === "string" || typeof value === "number") return value;
  if (typeof value === "bigint" || value instanceof Uint8Array) return value;
  throw new TypeError(`SQLite takes no value of type ${typeof value}`);
}
