import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { Kysely } from "kysely";
import { openDatabase, type OpenDatabase } from "../../src/store/sqlite/database.ts";
import { inMemory } from "../../src/store/sqlite/file-lock.ts";
import { sqliteDialect } from "../../src/store/sqlite/dialect.ts";
import type { Tables } from "../../src/store/tables.ts";
import { tempFolder } from "./temp-folder.ts";

/** A store that nothing was written to: to make one takes longer than most tests. */
const fresh = await makeFresh();

async function makeFresh(): Promise<Uint8Array> {
  const folder = mkdtempSync(join(tmpdir(), "sandwatch-test-"));
  try {
    const path = join(folder, "store.db");
    const { close } = openDatabase(path);
    using reader = new DatabaseSync(path, { readOnly: true });
    const image = reader.serialize();
    await close();
    return image;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Bytes 18 and 19 of an SQLite file say whether it has a write-ahead log: in memory none can be. */
const withoutLog = fresh.with(18, 1).with(19, 1);

/** Where a fresh store is, in a folder of the test's own. */
export function freshStoreFile(name = "store.db"): string {
  const path = join(tempFolder(), name);
  writeFileSync(path, fresh);
  return path;
}

/** A fresh store in memory. */
export function openFresh(): OpenDatabase {
  const database = new DatabaseSync(inMemory, { enableForeignKeyConstraints: true });
  database.deserialize(withoutLog);
  const kysely = new Kysely<Tables>({ dialect: sqliteDialect(database) });
  return { kysely, reader: kysely, close: () => kysely.destroy() };
}
