import { readFileSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { migrations } from "../../../src/store/schema.ts";
import { openDatabase } from "../../../src/store/sqlite/database.ts";
import { tempFolder } from "../../support/temp-folder.ts";

/** Rows in most tables, as version 1 left them: they never change. */
const rows = readFileSync(join(import.meta.dirname, "../fixtures/version-1.sql"), "utf8");

/** A store of version 1 with rows in most tables. */
export async function storeOfVersion1(): Promise<string> {
  const path = join(tempFolder(), "store.db");
  await openDatabase(path, { migrations: migrations.slice(0, 1) }).close();
  using database = new DatabaseSync(path, { enableForeignKeyConstraints: false });
  database.exec(rows);
  return path;
}
