import { existsSync, statSync } from "node:fs";

/** The store cannot be used. The message says which file, what is wrong and what to do. */
export class StoreError extends Error {
  override readonly name = "StoreError";
}

/** Another process has it. */
export class StoreInUseError extends StoreError {}

/** What SQLite says of a failure: its extended result code, and the code's text. */
export interface SqliteError extends Error {
  readonly errcode: number;
  readonly errstr: string;
}

export function isSqliteError(error: unknown): error is SqliteError {
  return error instanceof Error && "errcode" in error && typeof error.errcode === "number";
}

/** An error met while opening, in words for whoever runs sandwatch. */
export function asStoreError(error: unknown, file: string): unknown {
  if (error instanceof StoreError || !(error instanceof Error)) return error;
  if (!isSqliteError(error)) {
    if ("code" in error && (error.code === "EACCES" || error.code === "EROFS")) {
      const message = `The store ${file} cannot be opened: this user may not read and write it (${error.code}). Give it to that user, or sandwatch another store.path.`;
      return new StoreError(message, { cause: error });
    }
    return new StoreError(`The store ${file} cannot be opened: ${error.message}`, { cause: error });
  }
  const primaryCode = error.errcode & 0xff;
  if (primaryCode === 11 /* SQLITE_CORRUPT */ || primaryCode === 26 /* SQLITE_NOTADB */) {
    return new StoreError(corrupt(file), { cause: error });
  }
  if (primaryCode === 13 /* SQLITE_FULL */) {
    const message = `The store ${file} cannot be opened: its disk is full. Make room and start again.`;
    return new StoreError(message, { cause: error });
  }
  return new StoreError(`The store ${file} cannot be opened: ${error.errstr}${hint(file)}`, {
    cause: error,
  });
}

export function corrupt(file: string): string {
  return `The store ${file} is damaged or is no SQLite database. It was left as it is: put back a copy, or move it away to start afresh.`;
}

function hint(file: string): string {
  if (existsSync(file) && statSync(file).isDirectory()) return " (it is a directory)";
  return ". Check that the directory exists and may be written.";
}
