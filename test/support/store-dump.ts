import { existsSync, readFileSync } from "node:fs";
import { DatabaseSync } from "node:sqlite";

/** Every row of every table of a store, by table. */
export function dumpStore(path: string): Readonly<Record<string, readonly object[]>> {
  using database = new DatabaseSync(path, { readOnly: true });
  const tables = database
    .prepare("select name from sqlite_schema where type = 'table' order by name")
    .all()
    .map(({ name }) => String(name));
  return Object.fromEntries(
    tables.map((table) => [table, database.prepare(`select * from "${table}"`).all()]),
  );
}

/** The bytes of a store's file and of its write-ahead log, null where there is none. */
export function storeBytes(path: string): readonly (string | null)[] {
  return [path, `${path}-wal`].map((file) =>
    existsSync(file) ? readFileSync(file).toString("base64") : null,
  );
}
