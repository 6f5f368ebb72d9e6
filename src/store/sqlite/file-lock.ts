import {
  accessSync,
  closeSync,
  constants,
  existsSync,
  lstatSync,
  openSync,
  realpathSync,
} from "node:fs";
import { dirname, resolve } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { refusals, StoreError } from "../store-error.ts";
import { asStoreError, isSqliteError } from "./sqlite-error.ts";

/** A store that lives as long as the process. */
export const inMemory = ":memory:";

/** Processes that only look, or are about to let go, hold the lock for less. */
const usualWaitMs = 250;

/**
 * One process at a time. The lock is an exclusive transaction on a small database beside the store: the operating system
 * drops it when the process dies, and other processes can still read the store itself. While it waits, nothing else happens
 * in this process. The returned function lets go.
 *
 * @throws {StoreError} when another process has it, or the folder cannot be written
 */
export function lockFile(file: string, waitMs: number = usualWaitMs): () => void {
  const unlock = hold(file, "begin exclusive", { timeout: waitMs });
  if (unlock) return unlock;
  throw refusals.inUse(`The store ${file}`, "store.path");
}

/**
 * Keeps {@link lockFile} from succeeding, but not others from reading. The returned function lets go.
 *
 * @returns null when a process has the lock
 * @throws {StoreError} when that cannot be found out
 */
export function shareFile(file: string): (() => void) | null {
  const exists = existsSync(lockOf(file));
  if (!exists && !isWritable(dirname(file))) return () => {};
  return hold(file, `begin; ${look}`, { readOnly: exists, timeout: 0 });
}

/**
 * Whether a process runs on a store. Only looks: nothing is written, and nothing created.
 *
 * @throws {StoreError} when that cannot be found out
 */
export function isStoreInUse(path: string): boolean {
  if (path === inMemory) return false;
  const given = resolve(path);
  const file = existsSync(given) ? realpathSync(given) : given;
  refuseLinks(file);
  if (!existsSync(lockOf(file))) return false;
  const unlock = hold(file, look, { readOnly: true, timeout: 0 });
  unlock?.();
  return unlock === null;
}

const look = "select count(*) from sqlite_schema";

function lockOf(file: string): string {
  return `${file}.lock`;
}

/** @returns null when another process has it */
function hold(
  file: string,
  statement: string,
  options: { readonly readOnly?: boolean; readonly timeout: number },
): (() => void) | null {
  let holder: DatabaseSync | undefined;
  try {
    const lock = lockOf(file);
    refuseLinks(file);
    const { O_WRONLY, O_CREAT, O_NOFOLLOW } = constants;
    if (!options.readOnly) closeSync(openSync(lock, O_WRONLY | O_CREAT | O_NOFOLLOW, 0o600));
    holder = new DatabaseSync(lock, options);
    holder.exec(statement);
  } catch (error) {
    holder?.close();
    if (isSqliteError(error) && error.errcode === 5 /* SQLITE_BUSY */) return null;
    throw asStoreError(error, file);
  }
  return () => holder.close();
}

/** SQLite would follow a link beside the store, and write what it leads to. */
function refuseLinks(file: string): void {
  for (const path of ["-wal", "-shm", "-journal", ".lock"].map((end) => file + end)) {
    const isLink = lstatSync(path, { throwIfNoEntry: false })?.isSymbolicLink() ?? false;
    if (isLink) throw new StoreError(`${path} is a link, which is not followed. Remove it.`);
  }
}

function isWritable(folder: string): boolean {
  try {
    accessSync(folder, constants.W_OK);
    return true;
  } catch {
    return false;
  }
}
