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

function messageOf(error: Error, file: string): string {
  const failed = `The store ${file} cannot be opened:`;
  if (isSqliteError(error)) {
    switch (error.errcode & 0xff) {
      case 11 /* SQLITE_CORRUPT */:
      case 26 /* SQLITE_NOTADB */:
        return corrupt(file);
      case 13 /* SQLITE_FULL */:
        return `${failed} its disk is full. Free space and start again.`;
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
