import {
  accessSync,
  chmodSync,
  closeSync,
  constants,
  existsSync,
  mkdirSync,
  openSync,
  realpathSync,
  statSync,
} from "node:fs";
import { dirname, resolve } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { Kysely } from "kysely";
import { pathToFileURL } from "node:url";
import type { UnreadableRow } from "../row-reading.ts";
import type { Migration } from "../schema.ts";
import { StoreError } from "../store-error.ts";
import type { Db, Tables } from "../tables.ts";
import { sqliteDialect, type DialectOptions } from "./dialect.ts";
import { inMemory, lockFile, shareFile } from "./file-lock.ts";
import {
  checkCurrent,
  checkIntegrity,
  checkOwnership,
  checkSchema,
  checkWritten,
  createSchema,
  isEmpty,
  migrate,
} from "./schema-check.ts";
import { asStoreError, asWriteError, isSqliteError } from "./sqlite-error.ts";

export interface OpenDatabase {
  readonly kysely: Db;
  /** Reads what is committed, without waiting for a transaction that is under way. */
  readonly reader: Db;
  /** @throws that the files were replaced */
  readonly check?: () => void;
  readonly close: () => Promise<void>;
}

export interface OpenOptions {
  /** Called once when a file of the store was deleted or replaced while it is open. */
  readonly onReplaced?: (error: StoreError) => void;
  /** Writes without waiting for the disk: a crash of the machine may leave what cannot be used. */
  readonly isTemporary?: boolean;
  /** How long to wait, with everything else in this process, for another one that has the store. Default: 250. */
  readonly waitMs?: number;
  /** Refuses to create the store. */
  readonly mustExist?: boolean;
  /** Called with each row that cannot be read, once. */
  readonly onUnreadableRow?: ((row: UnreadableRow) => void) | undefined;
  /** Called when the clocks of targets whose polls changed nothing could not be written. */
  readonly onClocksFailed?: (error: unknown) => void;
  /** Replaces those of this version. */
  readonly migrations?: readonly Migration[];
}

/**
 * How long to wait for another process to let go of the database. SQLite waits in the way of
 * everything else, so it is short: what could not be written is tried again later.
 */
const busyTimeoutMs = 20;

/**
 * Opens and checks the store, creates its schema or brings it to this version, and holds it against every other process
 * until closed. No row of a file that is not a sound store of this version or an earlier one is changed.
 *
 * @throws {StoreError} when the file cannot be used
 */
export function openDatabase(
  path: string,
  {
    isTemporary = false,
    mustExist = false,
    onReplaced,
    migrations,
    waitMs = 250,
  }: OpenOptions = {},
): OpenDatabase {
  if (path === inMemory) return openInMemory();
  if (mustExist && !existsSync(path)) throw missing(resolve(path));
  const file = locate(resolve(path));
  const unlock = lockFile(file, waitMs);
  let database: DatabaseSync | undefined;
  try {
    inspect(file, { mustBeWritten: mustExist, waitMs }, migrations);
    keepPrivate(file);
    database = openSqlite(file, waitMs);
    database.exec("pragma journal_mode = wal");
    // What a poll changes of 100,000 servers is all over their table. With the usual 2 MB, SQLite would write pages before
    // the commit and read them again; with the usual 1,000 pages, it would copy them to the file at each poll.
    database.exec("pragma cache_size = -16000; pragma wal_autocheckpoint = 8000");
    database.exec(`pragma synchronous = ${isTemporary ? "off" : "full"}`);
    if (isEmpty(database)) createSchema(database, migrations);
    checkSchema(database, file, migrations);
    migrate(database, file, migrations);
    // Waits for a command that is writing: what a start writes does not.
    database.exec(`begin immediate; rollback; pragma busy_timeout = ${busyTimeoutMs}`);
    const check = watchFiles(file, onReplaced);
    const writer = openKysely(database, {
      checkFiles: check,
      asError: (error) => asWriteError(error, file),
    });
    const reader = openKysely(new DatabaseSync(file, { readOnly: true, timeout: busyTimeoutMs }));
    return {
      kysely: writer.kysely,
      reader: reader.kysely,
      check,
      close: () => reader.close().then(writer.close).finally(unlock),
    };
  } catch (error) {
    database?.close();
    unlock();
    throw asStoreError(error, file);
  }
}

/**
 * Opens the store read-only: also while a daemon runs on it. Where none does, none can start meanwhile.
 * Nothing is created. The integrity of the whole file is not checked: that takes long of a large one.
 *
 * @throws {StoreError} when there is no such store, or it is not of this version
 */
export function openReader(
  path: string,
  options: StoredOptions = {},
): Omit<OpenDatabase, "kysely"> {
  const { database, file, close } = openStored(path, options);
  try {
    checkCurrent(database, file, options.migrations);
  } catch (error) {
    close();
    throw error;
  }
  const { kysely, close: closeQueries } = openKysely(database);
  return { reader: kysely, close: () => closeQueries().finally(close) };
}

export interface StoredOptions {
  readonly timeoutMs?: number;
  /** Whether no daemon can run on it, so that nothing is put beside it. */
  readonly isBackup?: boolean;
  /** Replaces those of this version. */
  readonly migrations?: readonly Migration[] | undefined;
}

/**
 * The same for a store of this version or an earlier one, without Kysely. `isHeld`: no daemon runs on it, nor can one start.
 *
 * @throws {StoreError} when there is no such store, or it cannot be read
 */
export function openStored(
  path: string,
  { timeoutMs = busyTimeoutMs, isBackup = false, migrations }: StoredOptions = {},
) {
  const file = resolve(path);
  if (!existsSync(file))
    throw isBackup ? new StoreError(`There is no file ${file}.`) : missing(file);
  let database: DatabaseSync | undefined;
  let unlock: (() => void) | null = null;
  const close = (): void => {
    if (database?.isOpen) database.close();
    unlock?.();
  };
  try {
    const realFile = realpathSync(file);
    refuseSpecial(realFile);
    unlock = isBackup ? () => {} : shareFile(realFile);
    database = openReadOnly(realFile, unlock !== null, timeoutMs);
    checkOwnership(database, file, migrations);
    checkWritten(database, file);
    checkSchema(database, file, migrations);
    return { database, file: realFile, close, isHeld: unlock !== null };
  } catch (error) {
    close();
    throw asStoreError(error, file);
  }
}

function openInMemory(): OpenDatabase {
  const database = new DatabaseSync(inMemory, { enableForeignKeyConstraints: true });
  createSchema(database);
  const { kysely, close } = openKysely(database);
  return { kysely, reader: kysely, close };
}

function openKysely(database: DatabaseSync, options?: DialectOptions) {
  const kysely = new Kysely<Tables>({ dialect: sqliteDialect(database, options) });
  const close = async (): Promise<void> => {
    await kysely.destroy();
    // Kysely closes a database only if it was ever asked for something.
    if (database.isOpen) database.close();
  };
  return { kysely, close };
}

/** A file has one lock for all its names, so it is created, empty, if it does not exist. */
function locate(file: string): string {
  try {
    makeFolder(dirname(file));
    if (!existsSync(file)) closeSync(openSync(file, "a", 0o600));
    refuseSpecial(file);
    return realpathSync(file);
  } catch (error) {
    throw asStoreError(error, file);
  }
}

/** To open a pipe waits for somebody to write it, and the permissions of a device must not change. */
function refuseSpecial(file: string): void {
  const found = statSync(file);
  if (found.isFile() || found.isDirectory()) return;
  throw new StoreError(
    `The store ${file} cannot be opened: it is a device, a pipe or a socket. Give the name of a file.`,
  );
}

/** One by one: where a parent cannot hold folders, the recursive kind may never return. */
export function makeFolder(folder: string): void {
  if (existsSync(folder)) return;
  makeFolder(dirname(folder));
  mkdirSync(folder, { mode: 0o700 });
}

/** The history says how busy customers are: only the user of this process may read it, whatever files were there. */
function keepPrivate(file: string): void {
  for (const path of ["", "-wal", "-shm", ".lock"].map((end) => file + end)) {
    const mode = statSync(path, { throwIfNoEntry: false })?.mode ?? 0;
    if ((mode & 0o077) === 0) continue;
    try {
      chmodSync(path, 0o600);
    } catch {
      // It belongs to another user, or the file system has no permissions.
    }
  }
}

/** Reads only: to open a database for writing alters one that was left by a crash, and this one may not be ours. */
function inspect(
  file: string,
  { mustBeWritten, waitMs }: { readonly mustBeWritten: boolean; readonly waitMs: number },
  known?: readonly Migration[],
): void {
  const check = (database: DatabaseSync): void => {
    checkOwnership(database, file, known);
    checkIntegrity(database, file);
    if (mustBeWritten) checkWritten(database, file);
  };
  // SQLite opens what may not be written all the same: then the first poll would find out.
  accessSync(file, constants.R_OK | constants.W_OK);
  try {
    using database = openReadOnly(file, true, waitMs);
    check(database);
  } catch (error) {
    if (!isSqliteError(error) || error.errcode !== 776 /* SQLITE_READONLY_ROLLBACK */) throw error;
    // Killed while it was created, before it had a write-ahead log: only a writer can undo that.
    using database = openSqlite(file, waitMs);
    check(database);
  }
}

/**
 * With nothing beside the file, it is read as if it could not change: an ordinary reader leaves a log.
 *
 * @param isHeld whether no other process can be writing it
 */
export function openReadOnly(file: string, isHeld = true, timeoutMs = busyTimeoutMs): DatabaseSync {
  const address = pathToFileURL(file);
  const alone = ["-wal", "-journal"].every((end) => !existsSync(file + end));
  if (alone && isHeld) address.searchParams.set("immutable", "1");
  return new DatabaseSync(address, { readOnly: true, timeout: timeoutMs });
}

function openSqlite(file: string, timeout: number): DatabaseSync {
  return new DatabaseSync(file, { timeout, enableForeignKeyConstraints: true });
}

/**
 * Gives a check of the files of an open store. From the first time that one is gone or another one, it throws for good:
 * what was written since may be in files that nobody finds any more.
 */
function watchFiles(file: string, onReplaced?: (error: StoreError) => void): () => void {
  const watched = [file, `${file}-wal`, `${file}-shm`].map((path) => ({ path, id: idOf(path) }));
  let replaced: StoreError | null = null;
  return () => {
    if (replaced) throw replaced;
    const other = watched.find(({ path, id }) => idOf(path) !== id);
    if (!other) return;
    replaced = new StoreError(
      `${other.path} was deleted or replaced while sandwatch runs on it: nothing is stored any more. Stop sandwatch, restore the store or move it away to start with an empty one, and start sandwatch again.`,
    );
    onReplaced?.(replaced);
    throw replaced;
  };
}

/** Null: there is no such file. */
function idOf(path: string): string | null {
  const found = statSync(path, { bigint: true, throwIfNoEntry: false });
  return found ? `${found.dev}:${found.ino}` : null;
}

function missing(file: string): StoreError {
  return new StoreError(
    `There is no store ${file}: the daemon has not run with this configuration on this machine.`,
  );
}
