import { accessSync, constants, existsSync } from "node:fs";
import { dirname } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { asStoreError, isSqliteError, StoreInUseError } from "../store-error.ts";

/** Who only looks, or is about to let go, takes less. */
const patienceMs = 250;

/**
 * One process at a time. The lock is an exclusive transaction on a small database beside the store:
 * the operating system drops it when the process dies, however it dies, and other processes can
 * still read the store itself. Waits up to a quarter of a second, in which nothing else happens in this
 * process. The returned function lets go.
 *
 * @throws {StoreError} when another process has it, or the folder cannot be written
 */
export function lockFile(file: string): () => void {
  let holder: DatabaseSync | undefined;
  try {
    holder = new DatabaseSync(`${file}.lock`, { timeout: patienceMs });
    holder.exec("begin exclusive");
  } catch (error) {
    holder?.close();
    if (isBusy(error)) {
      throw new StoreInUseError(
        `The store ${file} is in use by another sandwatch. Stop that one, or give this one another store.path.`,
      );
    }
    throw asStoreError(error, file);
  }
  return () => holder.close();
}

/**
 * Keeps {@link lockFile} from succeeding, without being in the way of others that read. The returned
 * function lets go.
 *
 * @returns null when a process has the lock
 * @throws {StoreError} when that cannot be found out
 */
export function shareFile(file: string): (() => void) | null {
  const lock = `${file}.lock`;
  let holder: DatabaseSync | undefined;
  try {
    if (!existsSync(lock) && !isWritable(dirname(lock))) return () => {};
    holder = new DatabaseSync(lock, { readOnly: existsSync(lock), timeout: 0 });
    holder.exec("begin; select count(*) from sqlite_schema;");
  } catch (error) {
    holder?.close();
    if (isBusy(error)) return null;
    throw asStoreError(error, file);
  }
  return () => holder.close();
}

/** Whether a process holds it now. Only looks. */
export function isLocked(file: string): boolean {
  const lock = `${file}.lock`;
  if (!existsSync(lock)) return false;
  const looker = new DatabaseSync(lock, { readOnly: true, timeout: 0 });
  try {
    looker.prepare("select count(*) from sqlite_schema").get();
    return false;
  } catch (error) {
    if (isBusy(error)) return true;
    throw error;
  } finally {
    looker.close();
  }
}

function isBusy(error: unknown): boolean {
  return isSqliteError(error) && error.errcode === 5; /* SQLITE_BUSY */
}

function isWritable(folder: string): boolean {
  try {
    accessSync(folder, constants.W_OK);
    return true;
  } catch {
    return false;
  }
}
