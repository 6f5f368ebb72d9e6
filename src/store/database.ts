import {
  accessSync,
  constants,
  existsSync,
  lstatSync,
  mkdirSync,
  readlinkSync,
  realpathSync,
} from "node:fs";
import { dirname, resolve } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { pathToFileURL } from "node:url";
import { Kysely } from "kysely";
import { lockFile, shareFile } from "./file-lock.ts";
import { createCommitWaits } from "./commit-waits.ts";
import type { CommitWaitsOptions } from "./commit-waits.ts";
import { createLogTakeOvers } from "./log-take-overs.ts";
import { applicationId, applyMigrations, newestVersion } from "./migrate.ts";
import type { UnreadableRow } from "./row-reading.ts";
import { checkSchema, wrongSchema } from "./schema-check.ts";
import { sqliteDialect } from "./sqlite.ts";
import type { AfterStatement } from "./sqlite.ts";
import { asStoreError, corrupt, isSqliteError, StoreError } from "./store-error.ts";
import { watchStoreFiles } from "./store-files.ts";
import type { Tables } from "./tables.ts";
import { openWriteAheadLog } from "./write-ahead-log.ts";

export { StoreError } from "./store-error.ts";

export interface OpenDatabase {
  readonly kysely: Kysely<Tables>;
  /**
   * Reads without waiting for a transaction that is under way. What it gives the disk has; while that fails
   * it rejects.
   */
  readonly reader: Kysely<Tables>;
  /** The same without waiting for the disk either: for figures, of which nobody makes anything. */
  readonly glance: Kysely<Tables>;
  /** @throws what the disk failed with, while it fails, or that the files were replaced */
  readonly check?: () => void;
  /** From now on nothing waits for a disk that does not take what was committed. */
  readonly giveUp?: () => void;
  readonly close: () => Promise<void>;
}

interface WaitingOptions extends Omit<CommitWaitsOptions, "onCommit"> {
  /** Called once when a file of the store was deleted or replaced while it is open. */
  readonly onReplaced?: (error: StoreError) => void;
  /** Brings what was written of an open file to the disk. Left out: the system does. */
  readonly sync?: (descriptor: number) => Promise<void>;
}

export interface OpenOptions extends WaitingOptions {
  /** Writes without waiting for the disk: a crash of the machine may leave what cannot be used. */
  readonly isTemporary?: boolean;
  /** Refuses to create the store, or to migrate one of an earlier version. */
  readonly mustExist?: boolean;
  /** Called with each row that cannot be read, once. */
  readonly onUnreadableRow?: (row: UnreadableRow) => void;
}

/** A store that lives as long as the process, for looking once and for trying things out. */
export const inMemory = ":memory:";

/**
 * How long to wait for another process to let go of the database. SQLite waits in the way of
 * everything else, so it is short: what could not be written is tried again later.
 */
const busyTimeoutMs = 20;

/**
 * What of a transaction has no room here goes to the log before the commit. With much less, pages go
 * there that change once more, and the commit goes over the whole log again.
 */
const cacheKib = 8_000;

/**
 * Of a new store; one that is there keeps what it has. Where very many servers change at once, SQLite's
 * own half of it is twice as many pages to write.
 */
const pageBytes = 8_192;

/**
 * Opens, checks and migrates the store, and holds it against every other process until closed.
 * A file that is not a sound store of this or an earlier version is left as it is.
 *
 * @throws {StoreError} when the file cannot be used
 */
export function openDatabase(
  path: string,
  { isTemporary = false, mustExist = false, ...waiting }: OpenOptions = {},
): OpenDatabase {
  if (path === inMemory) return openInMemory();
  if (mustExist && !existsSync(path)) throw missing(resolve(path));
  const file = locate(resolve(path));
  const unlock = lockFile(file);
  try {
    inspect(file, mustExist);
    const database = openSqlite(file);
    try {
      migrate(database, file);
      checkSchema(database, file);
      // What a statement overwrites is kept until it can not fail any more. That is little, and in memory
      // costs far less than in a file. Migrations may put whole tables in order: they have files for that.
      database.exec("pragma temp_store = memory");
      const opened = isTemporary ? openTemporary(database) : openWaiting(database, waiting);
      return { ...opened, close: () => opened.close().finally(unlock) };
    } catch (error) {
      database.close();
      throw error;
    }
  } catch (error) {
    unlock();
    throw asStoreError(error, file);
  }
}

function openTemporary(database: DatabaseSync): OpenDatabase {
  database.exec("pragma synchronous = off");
  const kysely = openKysely(database);
  const beside = openBeside(database);
  const reader = openKysely(beside);
  return {
    kysely,
    reader,
    glance: reader,
    async close() {
      await destroy(reader, beside);
      await destroy(kysely, database);
    },
  };
}

function openWaiting(
  database: DatabaseSync,
  { sync, onReplaced, ...options }: WaitingOptions,
): OpenDatabase {
  database.exec("pragma synchronous = normal");
  const page = readNumber(database, "pragma page_size");
  const file = database.location() ?? "";
  const log = openWriteAheadLog(file, page, sync);
  const files = watchStoreFiles(file, onReplaced);
  const takeOvers = createLogTakeOvers(database, (work) => kysely.connection().execute(work));
  const waits = createCommitWaits(log, {
    ...options,
    onCommit: ({ frames }) => takeOvers.consider(frames * page),
  });
  const settle = async (): Promise<void> => {
    if (database.isTransaction) return;
    // What is in a file that nobody finds any more is not stored, whatever the disk says.
    if (await waits.settle()) files.check();
  };
  // What would not be stored is not begun: what it writes would be told by whoever reads it here.
  const kysely = openKysely(database, settle, () => files.checkLast());
  const beside = openBeside(database);
  const reader = openKysely(beside, () => waits.onDisk());
  return {
    kysely,
    reader,
    glance: openKysely(beside),
    check() {
      files.check();
      waits.check();
    },
    giveUp: () => waits.giveUp(),
    async close() {
      // After whoever writes.
      await kysely.connection().execute(async () => {});
      // To close it would wait for the disk. As after a kill, the next start finds what is whole.
      if (waits.lost) throw waits.lost;
      await takeOvers.settled();
      await destroy(reader, beside);
      await destroy(kysely, database);
      log.close();
    },
  };
}

function openKysely(
  database: DatabaseSync,
  afterStatement?: AfterStatement,
  beforeTransaction?: () => void,
): Kysely<Tables> {
  const dialect = sqliteDialect(database, afterStatement, beforeTransaction);
  return new Kysely<Tables>({ dialect });
}

function openBeside(database: DatabaseSync): DatabaseSync {
  return new DatabaseSync(database.location() ?? "", { readOnly: true, timeout: busyTimeoutMs });
}

export interface OpenReader {
  readonly reader: Kysely<Tables>;
  readonly close: () => Promise<void>;
}

/**
 * Opens the store read-only: also while a daemon runs on it. Where none does, none can start meanwhile.
 * Nothing is created or migrated. The integrity of the whole file is not checked: that takes long of a large one.
 *
 * @throws {StoreError} when there is no such store, or it is not of this version
 */
export function openReader(path: string): OpenReader {
  const file = resolve(path);
  if (!existsSync(file)) throw missing(file);
  let database: DatabaseSync | undefined;
  let unlock: (() => void) | null = null;
  try {
    const realFile = realpathSync(file);
    unlock = shareFile(realFile);
    database = openReadOnly(realFile, unlock !== null);
    checkOwnership(database, file);
    checkVersion(database, file);
    checkSchema(database, file);
  } catch (error) {
    database?.close();
    unlock?.();
    throw asStoreError(error, file);
  }
  const opened = database;
  const reader = openKysely(opened);
  return { reader, close: () => destroy(reader, opened).finally(() => unlock?.()) };
}

function openInMemory(): OpenDatabase {
  const database = new DatabaseSync(inMemory, { enableForeignKeyConstraints: true });
  migrate(database, inMemory);
  const kysely = openKysely(database);
  return { kysely, reader: kysely, glance: kysely, close: () => destroy(kysely, database) };
}

/** Kysely closes a database only if it was ever asked for something. */
async function destroy(kysely: Kysely<Tables>, database: DatabaseSync): Promise<void> {
  await kysely.destroy();
  if (database.isOpen) database.close();
}

/** One by one: where a parent cannot hold folders, the recursive kind may never return. */
function makeFolder(folder: string): void {
  if (existsSync(folder)) return;
  makeFolder(dirname(folder));
  mkdirSync(folder);
}

/** A file has one lock, whatever name it is opened by. Makes the folder where there is none. */
function locate(file: string): string {
  try {
    makeFolder(dirname(file));
    if (existsSync(file)) return realpathSync(file);
    const isLink = lstatSync(file, { throwIfNoEntry: false })?.isSymbolicLink() ?? false;
    return isLink ? locate(targetOf(file)) : file;
  } catch (error) {
    throw asStoreError(error, file);
  }
}

/** Of a link to what is not there yet. One that leads to itself is an error. */
function targetOf(link: string): string {
  try {
    return realpathSync(link);
  } catch (error) {
    if (!(error instanceof Error && "code" in error && error.code === "ENOENT")) throw error;
    return resolve(realpathSync(dirname(link)), readlinkSync(link));
  }
}

/**
 * Looks without touching: who opens a database for writing alters one that was left by a crash, and
 * this one may not be ours.
 */
function inspect(file: string, mustBeCurrent: boolean): void {
  if (!existsSync(file)) return;
  // SQLite opens what may not be written all the same: then the first poll would find out.
  accessSync(file, constants.R_OK | constants.W_OK);
  try {
    using database = openReadOnly(file);
    check(database, file);
    if (mustBeCurrent) checkVersion(database, file);
  } catch (error) {
    if (!isSqliteError(error) || error.errcode !== 776 /* SQLITE_READONLY_ROLLBACK */) throw error;
    // Killed while it was made, before it had a write-ahead log: only a writer can undo that.
    using database = openSqlite(file);
    check(database, file);
    if (mustBeCurrent) checkVersion(database, file);
  }
}

/**
 * With nothing beside the file, it is read as if it could not change: a mere reader leaves a log.
 *
 * @param isHeld whether nobody else can be writing it
 */
function openReadOnly(file: string, isHeld = true): DatabaseSync {
  const address = pathToFileURL(file);
  const alone = ["-wal", "-journal"].every((end) => !existsSync(file + end));
  if (alone && isHeld) address.searchParams.set("immutable", "1");
  return new DatabaseSync(address, { readOnly: true, timeout: busyTimeoutMs });
}

function check(database: DatabaseSync, file: string): void {
  checkOwnership(database, file);
  checkIntegrity(database, file);
}

function openSqlite(file: string): DatabaseSync {
  return new DatabaseSync(file, { timeout: busyTimeoutMs, enableForeignKeyConstraints: true });
}

function checkOwnership(database: DatabaseSync, file: string): void {
  const owner = readNumber(database, "pragma application_id");
  const version = readNumber(database, "pragma user_version");
  const tables = readNumber(database, "select count(*) from sqlite_schema");
  const fresh = owner === 0 && version === 0 && tables === 0;
  if (owner !== applicationId && !fresh) {
    throw new StoreError(
      `${file} is a database of another program. Give sandwatch a store.path of its own.`,
    );
  }
  if (version > newestVersion) {
    throw new StoreError(
      `The store ${file} was written by a newer sandwatch (store version ${version}, this one knows ${newestVersion}). Run that version, or give this one another store.path.`,
    );
  }
}

function checkIntegrity(database: DatabaseSync, file: string): void {
  const row = database.prepare("pragma quick_check(1)").get();
  const verdict = row ? Object.values(row)[0] : undefined;
  if (verdict !== "ok") throw new StoreError(corrupt(file));
}

/** That it is not of an earlier version, nor empty. */
function checkVersion(database: DatabaseSync, file: string): void {
  const version = readNumber(database, "pragma user_version");
  if (version >= newestVersion) return;
  throw new StoreError(
    version === 0
      ? `The store ${file} is empty: no sandwatch has run on it yet. Start one with \`sandwatch run\`.`
      : `The store ${file} was written by an earlier sandwatch (store version ${version}, this one has ${newestVersion}). Start the daemon of this version once, with \`sandwatch run\`: it brings the store up to date, and a command does not.`,
  );
}

function migrate(database: DatabaseSync, file: string): void {
  database.exec(`pragma page_size = ${pageBytes}`);
  database.exec("pragma journal_mode = wal; pragma synchronous = full;");
  database.exec(`pragma cache_size = -${cacheKib}`);
  const version = readNumber(database, "pragma user_version");
  try {
    applyMigrations(database, version);
  } catch (error) {
    // SQLITE_ERROR: a statement of a migration does not fit the tables that are there.
    if (isSqliteError(error) && error.errcode === 1) throw wrongSchema(file, error.message, error);
    throw error;
  }
}

function missing(file: string): StoreError {
  return new StoreError(
    `There is no store ${file}: no sandwatch has run with this configuration here.`,
  );
}

function readNumber(database: DatabaseSync, sql: string): number {
  const row = database.prepare(sql).get();
  const value = row ? Object.values(row)[0] : undefined;
  if (typeof value !== "number") throw new TypeError(`${sql} gave no number`);
  return value;
}
