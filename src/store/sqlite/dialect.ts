import type { DatabaseSync, SQLInputValue, StatementSync } from "node:sqlite";
import { SqliteDialect, SqliteDriver } from "kysely";
import type {
  CompiledQuery,
  DatabaseConnection,
  Driver,
  SqliteDatabase,
  SqliteStatement,
} from "kysely";
import type { StoreFiles } from "./store-files.ts";

/** More distinct statements than the store has; a bound all the same. */
const maxPreparedStatements = 256;

/**
 * Lets Kysely talk to the built-in SQLite. Prepared statements are kept: compiling one costs more
 * than running it.
 */
export function sqliteDialect(database: DatabaseSync, files?: StoreFiles): SqliteDialect {
  const adapted = adaptDatabase(database);
  return files
    ? new WatchedDialect(adapted, database, files)
    : new SqliteDialect({ database: adapted });
}

/** Checks around each commit that what it writes is in files that are found by their names. */
class WatchedDialect extends SqliteDialect {
  private readonly adapted: SqliteDatabase;
  private readonly database: DatabaseSync;
  private readonly files: StoreFiles;

  constructor(adapted: SqliteDatabase, database: DatabaseSync, files: StoreFiles) {
    super({ database: adapted });
    this.adapted = adapted;
    this.database = database;
    this.files = files;
  }

  override createDriver(): Driver {
    return new WatchedDriver(this.adapted, this.database, this.files);
  }
}

class WatchedDriver extends SqliteDriver {
  private readonly database: DatabaseSync;
  private readonly files: StoreFiles;

  constructor(adapted: SqliteDatabase, database: DatabaseSync, files: StoreFiles) {
    super({ database: adapted });
    this.database = database;
    this.files = files;
  }

  override async acquireConnection(): Promise<DatabaseConnection> {
    const connection = await super.acquireConnection();
    return {
      executeQuery: async <Row>(query: CompiledQuery) => {
        // What would not be stored is not begun: whoever reads it here would report it.
        if (query.sql === "begin") this.files.checkLast();
        const result = await connection.executeQuery<Row>(query);
        if (!this.database.isTransaction) this.files.check();
        return result;
      },
      streamQuery: (query, chunkSize) => connection.streamQuery(query, chunkSize),
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
