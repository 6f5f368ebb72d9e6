import { copyFileSync, existsSync, mkdirSync } from "node:fs";
import { dirname } from "node:path";
import { DatabaseSync } from "node:sqlite";

/** Copies the files of a store just as they are, into a folder that is made for them. */
export function copyStore(from: string, to: string): void {
  mkdirSync(dirname(to));
  for (const ending of ["", "-wal", "-shm"]) {
    if (existsSync(from + ending)) copyFileSync(from + ending, to + ending);
  }
}

/** Runs SQL on a store that no process has open. */
export function runSql(path: string, sql: string): void {
  const database = new DatabaseSync(path);
  database.exec(sql);
  database.close();
}
