import { createHash } from "node:crypto";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { describe, expect, it } from "vitest";
import { migrations, type Migration } from "../../src/store/schema.ts";
import { openDatabase, openReader } from "../../src/store/sqlite/database.ts";
import { checkStore } from "../../src/store/sqlite/store-check.ts";
import { StoreError } from "../../src/store/store-error.ts";
import { openStore } from "../../src/store/store.ts";
import { freshStoreFile } from "../support/fresh-store.ts";
import { dumpStore } from "../support/store-dump.ts";
import { tempFolder } from "../support/temp-folder.ts";
import { storeOfVersion1 } from "./support/version-1.ts";

const toVersion2: Migration = ({ text }) => [
  `alter table silences add column note ${text}`,
  "update silences set note = 'from ' || author",
  "create index silences_by_author on silences (author)",
];
const next: readonly Migration[] = [...migrations, toVersion2];

function versionOf(path: string): unknown {
  using database = new DatabaseSync(path, { readOnly: true });
  return database.prepare("pragma user_version").get()?.["user_version"];
}

function schemaOf(path: string): readonly unknown[] {
  using database = new DatabaseSync(path, { readOnly: true });
  const tables = "select name, sql from sqlite_schema where name not like 'sqlite_%' order by name";
  return database.prepare(tables).all();
}

/** The message with which it is refused. */
function refusal(open: () => unknown): string {
  try {
    open();
  } catch (error) {
    if (error instanceof StoreError) return error.message;
    throw error;
  }
  throw new Error("it was opened");
}

describe("a store of version 1", () => {
  it("has the schema of the baseline, which stays as it was released", async () => {
    // Whatever changes the schema is a migration of its own.
    const schema = JSON.stringify(schemaOf(await storeOfVersion1()));
    expect(createHash("sha256").update(schema).digest("hex")).toBe(
      "79379d05b2cac4db695cdb8c359cccd2c3c97eabdf2226041976accaa1227ec0",
    );
  });

  it("is read by this version", async () => {
    const path = await storeOfVersion1();
    const before = dumpStore(path);
    const store = openStore(path);
    const [target] = await store.targets.all();
    expect(target?.openIncidents).toHaveLength(2);
    await store.close();
    expect(store.unreadable.size).toBe(0);
    expect(dumpStore(path)).toEqual(before);
    expect(checkStore(path).faults).toEqual([]);
  });
});

describe("a later version", () => {
  it("brings it to its schema once and keeps every row", async () => {
    const path = await storeOfVersion1();
    const before = dumpStore(path);
    for (let start = 0; start < 2; start += 1) {
      await openDatabase(path, { migrations: next }).close();
      const silences = before["silences"]?.map((row) => ({ ...row, note: "from ann" }));
      expect(dumpStore(path)).toEqual({ ...before, silences });
      expect(versionOf(path)).toBe(2);
    }
  });

  it("gives a new store the same schema", async () => {
    const [migrated, created] = [await storeOfVersion1(), join(tempFolder(), "new.db")];
    for (const path of [migrated, created]) await openDatabase(path, { migrations: next }).close();
    expect(schemaOf(created)).toEqual(schemaOf(migrated));
    expect(versionOf(created)).toBe(2);
  });

  it("changes nothing when a migration fails, and says so", async () => {
    const path = await storeOfVersion1();
    const before = dumpStore(path);
    const failing: Migration = () => ["delete from silences", "alter table nothing drop column x"];
    const open = () => openDatabase(path, { migrations: [...migrations, failing] });
    expect(refusal(open)).toMatch(
      /could not be brought from version 1 to 2: .*nothing.* The store was not changed\.$/,
    );
    expect(dumpStore(path)).toEqual(before);
    expect(versionOf(path)).toBe(1);
  });

  it("lets queries wait for its daemon, as they change nothing", async () => {
    const path = await storeOfVersion1();
    expect(refusal(() => openReader(path, { migrations: next }))).toMatch(
      /older version of sandwatch\. Start the daemon of this version once/,
    );
    expect(versionOf(path)).toBe(1);
  });
});

it("an earlier version refuses a store of a later one and says what to do", async () => {
  const path = freshStoreFile();
  await openDatabase(path, { migrations: next }).close();
  const message =
    /newer version of sandwatch \(its schema version is 2; this version supports 1\)\. Use the newer version, restore a backup that was made before the upgrade/;
  for (const open of [openDatabase, openReader]) expect(refusal(() => open(path))).toMatch(message);
  expect(versionOf(path)).toBe(2);
});
