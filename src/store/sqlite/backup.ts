import { randomUUID } from "node:crypto";
import {
  closeSync,
  existsSync,
  fsyncSync,
  linkSync,
  lstatSync,
  openSync,
  realpathSync,
  renameSync,
  rmSync,
  statSync,
} from "node:fs";
import { basename, dirname, join, resolve } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { StoreError } from "../store-error.ts";
import { makeFolder, openReadOnly, openStored } from "./database.ts";
import { inMemory, lockFile } from "./file-lock.ts";
import { checkIntegrity, checkOwnership, checkSchema } from "./schema-check.ts";
import { isSqliteError } from "./sqlite-error.ts";

/** A daemon that checkpoints its log holds it for less. */
const timeoutMs = 10_000;

export interface BackupOptions {
  /** Replaces a file that is there. */
  readonly force?: boolean;
}

/**
 * Copies a store into a new file as it is at this moment, also while a daemon runs on it. SQLite reads it within one
 * transaction, which keeps no commit of the daemon waiting. The copy is complete and checked before it gets its name.
 *
 * @returns the size of the copy
 * @throws {StoreError} when there is no such store, or no copy can be made
 */
export function backUpStore(path: string, to: string, { force = false }: BackupOptions = {}) {
  if (path === inMemory) throw new StoreError("A store in memory cannot be backed up.");
  const target = resolve(to);
  const { database, file, close } = openStored(path, { timeoutMs });
  try {
    refuseOccupied(target, file, force);
    const copy = copyChecked(database, target);
    try {
      // It may have been made meanwhile.
      refuseOccupied(target, file, force);
      renameSync(copy, target);
    } catch (error) {
      rmSync(copy, { force: true });
      throw notWritten(target, error);
    }
    syncFolder(target);
    return { bytes: statSync(target).size };
  } finally {
    close();
  }
}

function refuseOccupied(target: string, file: string, force: boolean): void {
  const ofStore = ["", "-wal", "-shm", "-journal", ".lock"].map((end) => file + end);
  if (ofStore.includes(realName(target))) {
    throw new StoreError(`${target} belongs to the store itself. Give the backup another name.`);
  }
  const found = lstatSync(target, { throwIfNoEntry: false });
  if (!found) return;
  // A device must not be replaced, not even if that is asked for.
  if (!found.isFile() && !found.isSymbolicLink()) {
    const what = found.isDirectory() ? "a directory" : "not a regular file";
    throw new StoreError(`${target} is ${what}. Give the name of a file.`);
  }
  if (!force) {
    throw new StoreError(`${target} exists. Give another name, or replace it with --force.`);
  }
}

function realName(target: string): string {
  if (existsSync(target)) return realpathSync(target);
  const folder = dirname(target);
  return existsSync(folder) ? join(realpathSync(folder), basename(target)) : target;
}

export interface RestoreOptions {
  /** When the store that is replaced is set aside, as a part of a file's name. */
  readonly stamp: string;
}

/**
 * Replaces a store by a backup, which stays as it is. The store that was there is kept under another name. No daemon can
 * run on it meanwhile; if this process is killed, the store is either the old one or the new one.
 *
 * @returns the files of the previous store; none: there was none
 * @throws {StoreError} when a daemon runs on the store, or the backup cannot be used; then nothing is changed
 */
export function restoreStore(
  path: string,
  from: string,
  { stamp }: RestoreOptions,
): readonly string[] {
  if (path === inMemory) throw new StoreError("A store in memory cannot be restored.");
  const given = resolve(path);
  makeFolder(dirname(given));
  const file = existsSync(given) ? realpathSync(given) : given;
  if (existsSync(from) && realpathSync(from) === file) {
    throw new StoreError(`${file} is the store itself. Give the file of a backup.`);
  }
  const unlock = lockFile(file);
  try {
    const { database, close } = openStored(from, { timeoutMs, isBackup: true });
    let copy: string;
    try {
      checkIntegrity(database, resolve(from));
      copy = copyChecked(database, file);
    } finally {
      close();
    }
    try {
      const kept = existsSync(file) ? setAside(file, `${file}.replaced-${stamp}`) : [];
      // A log of the previous store must not be applied to the new one.
      for (const end of ["-wal", "-shm"]) rmSync(file + end, { force: true });
      renameSync(copy, file);
      syncFolder(file);
      return kept;
    } catch (error) {
      rmSync(copy, { force: true });
      throw notWritten(file, error);
    }
  } finally {
    unlock();
  }
}

/** By links: until it is replaced, the store is also where it was. */
function setAside(file: string, aside: string): readonly string[] {
  const ends = ["", "-wal"].filter((end) => existsSync(file + end));
  for (const end of ends) linkSync(file + end, aside + end);
  try {
    // Moves what is in the log into the file, which is the same under both names.
    using database = new DatabaseSync(file, { timeout: timeoutMs });
    database.exec("pragma wal_checkpoint(truncate)");
  } catch (error) {
    if (!isSqliteError(error)) throw error;
    // The file is damaged. SQLite may have deleted the log that it could not use, but not under its other name.
  }
  const moved = ends.filter((end) => end !== "" && statSync(aside + end).size === 0);
  for (const end of moved) rmSync(aside + end);
  return ends.filter((end) => !moved.includes(end)).map((end) => aside + end);
}

/**
 * Copies a database beside a file: without free pages, which may hold what was deleted, and private to this user.
 *
 * @returns the name of the copy, which is on the disk and was checked
 */
function copyChecked(database: DatabaseSync, beside: string): string {
  const copy = `${beside}.${randomUUID().slice(0, 8)}.partial`;
  try {
    // SQLite would make a file that others can read.
    closeSync(openSync(copy, "wx", 0o600));
    database.prepare("vacuum into ?").run(copy);
    // SQLite leaves that to the operating system here.
    sync(copy);
    using copied = openReadOnly(copy);
    checkOwnership(copied, copy);
    checkIntegrity(copied, copy);
    checkSchema(copied, copy);
    return copy;
  } catch (error) {
    for (const end of ["", "-journal"]) rmSync(copy + end, { force: true });
    throw notWritten(beside, error);
  }
}

function syncFolder(file: string): void {
  sync(dirname(file));
}

function sync(path: string): void {
  const opened = openSync(path, "r");
  try {
    fsyncSync(opened);
  } finally {
    closeSync(opened);
  }
}

function notWritten(target: string, error: unknown): unknown {
  if (error instanceof StoreError || !(error instanceof Error)) return error;
  const why = isSqliteError(error) && error.errcode === 13 ? "its disk is full" : error.message;
  return new StoreError(`${target} could not be written: ${why}. Nothing was changed.`, {
    cause: error,
  });
}
