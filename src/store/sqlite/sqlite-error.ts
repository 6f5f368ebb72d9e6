import { existsSync, statSync } from "node:fs";
import { StoreError } from "../store-error.ts";

/** SQLite's extended result code of a failure, and the code's text. */
export interface SqliteError extends Error {
  readonly errcode: number;
  readonly errstr: string;
}

export function isSqliteError(error: unknown): error is SqliteError {
  return error instanceof Error && "errcode" in error && typeof error.errcode === "number";
}

/** An error met while opening, in words for the operator. */
export function asStoreError(cause: unknown, file: string): unknown {
  if (cause instanceof StoreError || !(cause instanceof Error)) return cause;
  return new StoreError(messageOf(cause, file), { cause });
}

/** An error met while the store is open: that its disk is full is said in words, as it is for the operator to mend. */
export function asWriteError(cause: unknown, file: string): unknown {
  if (!isFull(cause)) return cause;
  const message = `The store ${file} cannot be written: its disk is full (database or disk is full). Free space; a daemon that runs goes on by itself.`;
  return new StoreError(message, { cause });
}

/** Where there is no space for the index of the log, SQLite says no more than that it could not be resized. */
function isFull(error: unknown): boolean {
  if (isSqliteError(error)) {
    return (error.errcode & 0xff) === 13 /* SQLITE_FULL */ || error.errcode === 4874;
  }
  return error instanceof Error && "code" in error && error.code === "ENOSPC";
}

function messageOf(error: Error, file: string): string {
  const failed = `The store ${file} cannot be opened:`;
  if (isFull(error)) return `${failed} its disk is full. Free space and start again.`;
  if (isSqliteError(error)) {
    switch (error.errcode & 0xff) {
      case 11 /* SQLITE_CORRUPT */:
      case 26 /* SQLITE_NOTADB */:
        return corrupt(file);
      case 5 /* SQLITE_BUSY */:
        return `${failed} another program has it locked. Stop that program, and start again.`;
    }
    const isDirectory = existsSync(file) && statSync(file).isDirectory();
    return isDirectory
      ? `${failed} ${error.errstr} (it is a directory)`
      : `${failed} ${error.errstr}. Check that the directory exists and may be written.`;
  }
  if ("code" in error && error.code === "EROFS") {
    return `${failed} its file system is read-only. Mount it so that it can be written, or set another store.path.`;
  }
  if ("code" in error && error.code === "EACCES") {
    return `${failed} this user may not read and write it (EACCES). Grant access to this user, or set another store.path.`;
  }
  return `${failed} ${error.message}`;
}

export function corrupt(file: string): string {
  return `The store ${file} is damaged or is not an SQLite database. It was not changed: restore a copy, or move it away to start with an empty one.`;
}
