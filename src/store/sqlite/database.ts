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
import { applicationId, createSchema } from "./create-schema.ts";
import { schemaVersion } from "../schema.ts";
import type { UnreadableRow } from "../row-reading.ts";
import { checkSchema } from "./schema-check.ts";
import { sqliteDialect } from "./dialect.ts";
import { asStoreError, corrupt, isSqliteError, StoreError } from "../store-error.ts";
import { type StoreFiles, watchStoreFiles } from "./store-files.ts";
import type { Tables } from "../tables.ts";

export { StoreError } from "../store-error.ts";

export interface OpenDatabase {
  readonly kysely: Kysely<Tables>;
  /** Reads what is committed, without waiting for a transaction that is under way. */
  readonly reader: Kysely<Tables>;
  /** @throws that the files were replaced */
  readonly check?: () => void;
  readonly close: () => Promise<void>;
}

export interface OpenOptions {
  /** Called once when a file of the store was deleted or replaced while it is open. */
  readonly onReplaced?: (error: StoreError) => void;
  /** Writes without waiting for the disk: a crash of the machine may leave what cannot be used. */
  readonly isTemporary?: boolean;
  /** Refuses to create the store. */
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
 * Opens and checks the store, makes its schema where it is new, and holds it against every other process until closed.
 * A file that is not a sound store of this version is left as it is.
 *
 * @throws {StoreError} when the file cannot be used
 */
export function openDatabase(
  path: string,
  { isTemporary = false, mustExist = false, onReplaced }: OpenOptions = {},
): OpenDatabase {
  if (path === inMemory) return openInMemory();
  if (mustExist && !existsSync(path)) throw missing(resolve(path));
  const file = locate(resolve(path));
  const unlock = lockFile(file);
  try {
    inspect(file, mustExist);
    const database = openSqlite(file);
    try {
      database.exec("pragma journal_mode = wal");
      // What a poll changes of 100,000 servers is all over their table. With the usual 2 MB, SQLite would write pages before
      // the commit and read them again; with the usual 1,000 pages, it would copy them to the file at each poll.
      database.exec("pragma cache_size = -16000; pragma wal_autocheckpoint = 8000");
      database.exec(`pragma synchronous = ${isTemporary ? "off" : "full"}`);
      if (isEmpty(database)) createSchema(database);
      checkSchema(database, file);
      const files = watchStoreFiles(file, onReplaced);
      const kysely = openKysely(database, files);
      const beside = new DatabaseSync(file, { readOnly: true, timeout: busyTimeoutMs });
      const reader = openKysely(beside);
      return {
        kysely,
        reader,
        check: () => files.check(),
        async close() {
          try {
            await destroy(reader, beside);
            await destroy(kysely, database);
          } finally {
            unlock();
          }
        },
      };
    } catch (error) {
      database.close();
      throw error;
    }
  } catch (error) {
    unlock();
    throw asStoreError(error, file);
  }
}

function openKysely(database: DatabaseSync, files?: StoreFiles): Kysely<Tables> {
  return new Kysely<Tables>({ dialect: sqliteDialect(database, files) });
}

export interface OpenReader {
  readonly reader: Kysely<Tables>;
  readonly close: () => Promise<void>;
}

/**
 * Opens the store read-only: also while a daemon runs on it. Where none does, none can start meanwhile.
 * Nothing is created. The integrity of the whole file is not checked: that takes long of a large one.
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
    checkWritten(database, file);
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
  createSchema(database);
  const kysely = openKysely(database);
  return { kysely, reader: kysely, close: () => destroy(kysely, database) };
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
function inspect(file: string, mustBeWritten: boolean): void {
  if (!existsSync(file)) return;
  // SQLite opens what may not be written all the same: then the first poll would find out.
  accessSync(file, constants.R_OK | constants.W_OK);
  try {
    using database = openReadOnly(file);
    check(database, file);
    if (mustBeWritten) checkWritten(database, file);
  } catch (error) {
    if (!isSqliteError(error) || error.errcode !== 776 /* SQLITE_READONLY_ROLLBACK */) throw error;
    // Killed while it was made, before it had a write-ahead log: only a writer can undo that.
    using database = openSqlite(file);
    check(database, file);
    if (mustBeWritten) checkWritten(database, file);
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

function isEmpty(database: DatabaseSync): boolean {
  return (
    readNumber(database, "pragma application_id") === 0 &&
    readNumber(database, "select count(*) from sqlite_schema") === 0
  );
}

/** @throws {StoreError} when it is not a store of this version; an empty file is none yet */
function checkOwnership(database: DatabaseSync, file: string): void {
  if (isEmpty(database)) return;
  if (readNumber(database, "pragma application_id") !== applicationId) {
    throw new StoreError(
      `${file} is a database of another program. Give sandwatch a store.path of its own.`,
    );
  }
  // Stores of the time before the first release counted up from 1, too, but had no such table.
  const isReleased =
    readNumber(
      database,
      "select count(*) from sqlite_schema where type = 'table' and name = 'commit_sequence'",
    ) === 1;
  const version = readNumber(database, "pragma user_version");
  if (!isReleased) {
    throw new StoreError(
      `The store ${file} was written by a sandwatch from before version 1, whose history this one cannot read. Move it away to start with an empty one.`,
    );
  }
  if (version > schemaVersion) {
    throw new StoreError(
      `The store ${file} was written by a newer sandwatch (store version ${version}, this one knows ${schemaVersion}). Run that version, or give this one another store.path.`,
    );
  }
}

function checkIntegrity(database: DatabaseSync, file: string): void {
  const row = database.prepare("pragma quick_check(1)").get();
  const verdict = row ? Object.values(row)[0] : undefined;
  if (verdict !== "ok") throw new StoreError(corrupt(file));
}

/** @throws {StoreError} when it is empty */
function checkWritten(database: DatabaseSync, file: string): void {
  if (!isEmpty(database)) return;
  throw new StoreError(
    `The store ${file} is empty: no sandwatch has run on it yet. Start one with \`sandwatch run\`.`,
  );
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
