import type { DatabaseSync, SQLOutputValue } from "node:sqlite";
import xxhash from "xxhash-wasm";
import { migrations } from "../schema.ts";
import { storableText } from "../sql-helpers.ts";
import { StoreError } from "../store-error.ts";
import type { PostgresSettings } from "../store-settings.ts";
import { openStored } from "../sqlite/database.ts";
import { checkCurrent as checkSource, checkIntegrity } from "../sqlite/schema-check.ts";
import { namesInNewStore, read } from "../sqlite/schema-check.ts";
import { tryLock, waitForLock } from "./processes.ts";
import { beginNewSchema, checkCurrent, checkServer, nameOf } from "./schema-check.ts";
import { ConnectionLostError, createConnector, PostgresError } from "./session.ts";
import type { Connector, Session } from "./session.ts";

/** A table of the store, and how many of its rows were written or verified. */
export interface CopyProgress {
  readonly step: "copied" | "verified";
  readonly table: string;
  readonly rows: number;
  readonly of: number;
}

const rowsAtOnce = 1_000;
const charactersAtOnce = 1_000_000;
const timeoutMs = 10_000;

type Row = Readonly<Record<string, SQLOutputValue>>;

/**
 * Copies a store of SQLite into a new schema of PostgreSQL, with its ids and numbers, and compares the copy with it. All is
 * one transaction: if this process is killed, there is no store. No daemon can run on either store meanwhile.
 *
 * @returns how many rows each table has
 * @throws {StoreError} when a daemon runs on either store, there is a store already, or a row cannot be copied
 */
export async function copyToPostgres(
  path: string,
  settings: PostgresSettings,
  onProgress: (progress: CopyProgress) => void,
): Promise<ReadonlyMap<string, number>> {
  const { database, file, close, isHeld } = openStored(path, { timeoutMs });
  try {
    if (!isHeld) {
      throw new StoreError(
        `The store ${file} is in use by another sandwatch process. Stop that process, and copy again.`,
      );
    }
    checkSource(database, file);
    checkIntegrity(database, file);
    const connector = await createConnector(settings);
    const session = await connector.connect();
    try {
      await checkServer(session, connector);
      await waitForLock(() => tryLock(session, connector), connector);
      await beginNewSchema(session, connector);
      const copied = await copyTables(database, session, onProgress);
      await checkCurrent(session, connector);
      await commit(session, connector);
      return copied;
    } catch (error) {
      const isOfServer = error instanceof PostgresError || error instanceof ConnectionLostError;
      throw isOfServer ? new StoreError(`${error.message}. Nothing was copied.`) : error;
    } finally {
      // What was not committed is not there.
      await session.close();
    }
  } finally {
    close();
  }
}

async function copyTables(
  database: DatabaseSync,
  session: Session,
  onProgress: (progress: CopyProgress) => void,
): Promise<ReadonlyMap<string, number>> {
  const hasher = await xxhash();
  /** Whatever their order is. */
  const sumOf = (sum: bigint, row: string): bigint => BigInt.asUintN(64, sum + hasher.h64(row));
  const copied = new Map<string, number>();
  await session.query("delete from commit_sequence");
  for (const [table, columns] of tablesOfSchema()) {
    const of = Number(read(database, `select count(*) from ${table}`));
    const written = { rows: 0, sum: 0n };
    for (const batch of batchesOf(database, table, columns)) {
      await insert(session, table, batch);
      written.rows += batch.length;
      written.sum = batch.reduce((sum, { text }) => sumOf(sum, text), written.sum);
      onProgress({ step: "copied", table, rows: written.rows, of });
    }
    const found = { rows: 0, sum: 0n };
    await session.query(`declare copied cursor for select ${columns.join()} from ${table}`);
    for (;;) {
      const { rows } = await session.query(`fetch ${rowsAtOnce} from copied`);
      if (rows.length === 0) break;
      found.rows += rows.length;
      found.sum = rows.reduce((sum: bigint, row) => sumOf(sum, JSON.stringify(row)), found.sum);
      onProgress({ step: "verified", table, rows: found.rows, of });
    }
    await session.query("close copied");
    if (written.rows !== of || found.rows !== of || found.sum !== written.sum) {
      throw new StoreError(
        `The copy of the table ${table} differs from the original: ${of} rows there, ${found.rows} rows here. Nothing was copied.`,
      );
    }
    copied.set(table, of);
    await session.query(`analyze ${table}`);
  }
  await continueNumbers(database, session);
  return copied;
}

/** The columns of each table, in the order of their creation: a table refers only to those before it. */
function tablesOfSchema(): ReadonlyMap<string, readonly string[]> {
  const columns = [...namesInNewStore(migrations)]
    .filter((name) => name.startsWith("column ") && !name.includes(" sqlite_"))
    .map((name) => name.slice("column ".length).split("."));
  const tables = Map.groupBy(columns, ([table = ""]) => table);
  return new Map(
    tables.entries().map(([table, of]) => [table, of.map(([, column = ""]) => `"${column}"`)]),
  );
}

interface StoredRow {
  /** The values of its primary key, in words. */
  readonly name: string;
  /** As JSON. */
  readonly text: string;
}

function* batchesOf(
  database: DatabaseSync,
  table: string,
  columns: readonly string[],
): Generator<readonly StoredRow[]> {
  const key = database
    .prepare(`select name from pragma_table_info('${table}') where pk > 0`)
    .all()
    .map(({ name }) => String(name));
  const select = database.prepare(`select ${columns.join()} from ${table}`);
  // Otherwise a number that is not exact in JavaScript would end the reading of all rows.
  select.setReadBigInts(true);
  let batch: StoredRow[] = [];
  let characters = 0;
  // Without an order they come in that of their numbers, so a row comes after those of its table that it refers to.
  for (const row of select.iterate()) {
    const name = key.map((column) => `${column} ${String(row[column])}`).join(", ");
    const text = JSON.stringify(storable(row, table, name));
    batch.push({ name, text });
    characters += text.length;
    if (batch.length < rowsAtOnce && characters < charactersAtOnce) continue;
    yield batch;
    batch = [];
    characters = 0;
  }
  if (batch.length > 0) yield batch;
}

function storable(row: Row, table: string, name: string): Readonly<Record<string, unknown>> {
  const values: Record<string, unknown> = {};
  for (const [column, value] of Object.entries(row)) {
    if (typeof value === "string") values[column] = storableText(value);
    else if (value === null) values[column] = null;
    else {
      const number = Number(value);
      const isExact = typeof value !== "bigint" || Number.isSafeInteger(number);
      if (!Number.isFinite(number) || !isExact) {
        throw damaged(table, name, `its ${column} is out of range`);
      }
      values[column] = number;
    }
  }
  return values;
}

function damaged(table: string, name: string, why: string): StoreError {
  return new StoreError(
    `The row of the table ${table} with ${name || "its one place"} is damaged: ${why}. Nothing was copied. Correct or delete the row, and copy again.`,
  );
}

async function insert(session: Session, table: string, batch: readonly StoredRow[]): Promise<void> {
  const statement = `insert into ${table} select * from json_populate_recordset(null::${table}, $1)`;
  const write = (rows: readonly StoredRow[]) =>
    session.query(statement, [`[${rows.map(({ text }) => text).join()}]`]);
  await session.query("savepoint batch");
  try {
    await write(batch);
  } catch (error) {
    if (!isOfContent(error)) throw error;
    await session.query("rollback to savepoint batch");
    for (const row of batch) {
      await write([row]).catch((cause: unknown) => {
        throw isOfContent(cause) ? damaged(table, row.name, cause.message) : cause;
      });
    }
    throw error;
  }
  await session.query("release savepoint batch");
}

/** Whether a value cannot be one of its column, or a row contradicts others. */
function isOfContent(error: unknown): error is PostgresError {
  return error instanceof PostgresError && /^2[23]/.test(error.code);
}

/** New rows get numbers that no row ever had, also none that was deleted. */
async function continueNumbers(database: DatabaseSync, session: Session): Promise<void> {
  const { rows } = await session.query(
    `select relname as table, attname as column, pg_get_serial_sequence(quote_ident(relname), attname) as sequence
     from pg_attribute join pg_class on pg_class.oid = attrelid
     where relnamespace = current_schema()::regnamespace and relkind = 'r' and attidentity <> ''`,
  );
  for (const { table, column, sequence } of rows) {
    const last = `select max(
      coalesce((select seq from sqlite_sequence where name = '${table}'), 0),
      coalesce((select max("${column}") from ${table}), 0)
    )`;
    const value = Number(read(database, last));
    if (value > 0) await session.query("select setval($1, $2)", [sequence, value]);
  }
}

async function commit(session: Session, connector: Connector): Promise<void> {
  try {
    await session.query("commit");
  } catch (error) {
    if (!(error instanceof ConnectionLostError)) throw error;
    throw new StoreError(
      `The connection was lost while the copy was committed: ${error.why}. If \`sandwatch doctor\` finds a store in ${nameOf(connector)}, the copy is complete. Otherwise copy again.`,
    );
  }
}
