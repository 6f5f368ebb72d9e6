import { accessSync, closeSync, constants, existsSync, openSync, realpathSync } from "node:fs";
import { dirname, resolve } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { StoreError } from "../store-error.ts";
import { asStoreError, isSqliteError } from "./sqlite-error.ts";

/** A store that lives as long as the process. */
export const inMemory = ":memory:";

/** Processes that only look, or are about to let go, hold the lock for less. */
const timeoutMs = 250;

/**
 * One process at a time. The lock is an exclusive transaction on a small database beside the store: the operating system
 * drops it when the process dies, and other processes can still read the store itself. Waits up to a quarter of a second,
 * in which nothing else happens in this process. The returned function lets go.
 *
 * @throws {StoreError} when another process has it, or the folder cannot be written
 */
export function lockFile(file: string): () => void {
  const release = hold(file, "begin exclusive", { timeout: timeoutMs });
  if (release) return release;
  throw new StoreError(
    `The store ${file} is in use by another sandwatch process. Stop that process, or set another store.path.`,
  );
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
  if (!existsSync(lockOf(file))) return false;
  const release = hold(file, look, { readOnly: true, timeout: 0 });
  release?.();
  return release === null;
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
    if (!options.readOnly && !existsSync(lock)) closeSync(openSync(lock, "a", 0o600));
    holder = new DatabaseSync(lock, options);
    holder.exec(statement);
  } catch (error) {
    holder?.close();
    if (isSqliteError(error) && error.errcode === 5 /* SQLITE_BUSY */) return null;
    throw asStoreError(error, file);
  }
  return () => holder.close();
}

function isWritable(folder: string): boolean {
  try {
    accessSync(folder, constants.W_OK);
    return true;
  } catch {
    return false;
  }
}
