import { createHash } from "node:crypto";
import {
  chmodSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  readFileSync,
  readdirSync,
  rmSync,
  truncateSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { sql } from "kysely";
import { describe, expect, it, onTestFinished } from "vitest";
import type { OpenDatabase } from "../../src/store/sqlite/database.ts";
import { schemaVersion } from "../../src/store/schema.ts";
import { tempFolder } from "../support/temp-folder.ts";
import {
  addTarget,
  newStorePath,
  openStore,
  refusal,
  regions,
  soundStore,
} from "./support/store-files.ts";

async function pragma({ kysely }: OpenDatabase, name: string): Promise<unknown> {
  const { rows } = await sql<Record<string, unknown>>`pragma ${sql.raw(name)}`.execute(kysely);
  return Object.values(rows[0] ?? {})[0];
}

/** The hash of every file in a folder, save for the lock's. */
function hashes(path: string): Readonly<Record<string, string>> {
  const folder = join(path, "..");
  return Object.fromEntries(
    readdirSync(folder, { withFileTypes: true })
      .filter((entry) => entry.isFile() && !entry.name.includes(".lock"))
      .map(({ name }) => [
        name,
        createHash("sha256")
          .update(readFileSync(join(folder, name)))
          .digest("hex"),
      ]),
  );
}

it("a store with pages of another size is gone on with as it is", async () => {
  const path = await soundStore();
  execute(path, "pragma journal_mode = delete; pragma page_size = 8192; vacuum");
  const database = openStore(path);
  await addTarget(database, "eu");
  expect(await pragma(database, "page_size")).toBe(8_192);
  expect(await regions(database)).toEqual(["us", "eu"]);
});

describe("a new store", () => {
  it("is made with its folder, and has a log", async () => {
    const database = openStore(join(tempFolder(), "deep", "down", "store.db"));
    expect(await pragma(database, "journal_mode")).toBe("wal");
    expect(await pragma(database, "synchronous")).toBe(2);
    expect(await pragma(database, "foreign_keys")).toBe(1);
    expect(await pragma(database, "user_version")).toBe(schemaVersion);
    expect(await pragma(database, "application_id")).toBe(0x73776368);
  });

  it("is made also where an empty file lies", async () => {
    const path = newStorePath();
    writeFileSync(path, "");
    expect(await regions(openStore(path))).toEqual([]);
  });

  it("keeps everything when opened again, and has a log as before", async () => {
    const database = openStore(await soundStore());
    expect(await regions(database)).toEqual(["us"]);
    expect(await pragma(database, "journal_mode")).toBe("wal");
    expect(await pragma(database, "synchronous")).toBe(2);
  });

  it("has all in its one file once it is closed, also when nobody asked it for anything", async () => {
    const path = newStorePath();
    await openStore(path).close();
    const left = readdirSync(join(path, ".."));
    expect(left.filter((name) => /-(wal|shm)$/.test(name))).toEqual([]);
  });

  it("leaves nothing behind in memory alone", async () => {
    const database = openStore(":memory:");
    await addTarget(database, "us");
    expect(await regions(database)).toEqual(["us"]);
    expect(existsSync(":memory:")).toBe(false);
  });
});

describe("a file that cannot be used is left as it is, and the message says why", () => {
  const damaged = /store\.db is damaged or is not an SQLite database\. It was not changed/;

  it.each<readonly [what: string, spoil: (path: string) => void, message: RegExp]>([
    [
      "a store of a newer version",
      (path) => execute(path, `pragma user_version = ${schemaVersion + 1}`),
      new RegExp(
        `was written by a newer version of sandwatch \\(its schema version is ${schemaVersion + 1}; this version supports ${schemaVersion}\\)`,
      ),
    ],
    [
      "a database of another program",
      (path) => execute(path, "pragma application_id = 7"),
      /is a database of another program/,
    ],
    [
      "a database of a program that does not give its name",
      (path) => {
        rmSync(path);
        execute(path, "create table notes (text)");
      },
      /is a database of another program/,
    ],
    ["text", (path) => writeFileSync(path, "regions:\n  us: {}\n".repeat(99)), damaged],
    ["a few letters", (path) => writeFileSync(path, "hi"), damaged],
    ["a store cut in half", (path) => truncateSync(path, 8_192 + 77), damaged],
    ["a store with a page overwritten", (path) => overwrite(path, 8_192, 8_192), damaged],
  ])("%s", async (_, spoil, message) => {
    const path = await soundStore();
    spoil(path);
    const before = hashes(path);
    expect(refusal(path)).toMatch(message);
    expect(hashes(path)).toEqual(before);
    expect(refusal(path)).toMatch(message);
  });

  it.each([
    ["a newer version", `pragma user_version = ${schemaVersion + 1}`],
    ["another program", "pragma application_id = 7"],
  ])(
    "a database of %s that was killed, with its latest writes in the log beside",
    async (_, statement) => {
      const path = await soundStore();
      const left = join(tempFolder(), "store.db");
      using writer = new DatabaseSync(path);
      writer.exec(`${statement}; update targets set region = 'eu'`);
      for (const end of ["", "-wal"]) copyFileSync(path + end, left + end);
      const before = hashes(left);
      expect(Object.keys(before).length).toBe(2);
      expect(refusal(left)).toMatch(/newer|another program/);
      expect(hashes(left)).toMatchObject(before);
    },
  );

  it("a directory", () => {
    const path = newStorePath();
    mkdirSync(path);
    expect(refusal(path)).toMatch(/store\.db cannot be opened: .+ \(it is a directory\)/);
  });

  it("a place below a file", () => {
    const path = newStorePath();
    writeFileSync(path, "not a folder");
    expect(refusal(join(path, "store.db"))).toMatch(/store\.db cannot be opened: /);
    expect(readFileSync(path, "utf8")).toBe("not a folder");
  });

  it.skipIf(process.getuid?.() === 0)("a folder that may not be written", () => {
    const path = newStorePath();
    chmodSync(join(path, ".."), 0o500);
    onTestFinished(() => chmodSync(join(path, ".."), 0o700));
    expect(refusal(path)).toMatch(/cannot be opened: .+ may be written/);
  });

  it.skipIf(process.getuid?.() === 0)("a file that may not be written", async () => {
    const path = await soundStore();
    chmodSync(path, 0o400);
    expect(refusal(path)).toMatch(/cannot be opened: .+ \(EACCES\)/);
  });

  it("is not held after it was refused", async () => {
    const path = await soundStore();
    const sound = readFileSync(path);
    writeFileSync(path, "garbage ".repeat(99));
    refusal(path);
    writeFileSync(path, sound);
    expect(await regions(openStore(path))).toEqual(["us"]);
  });
});

it("a store whose holder was killed in the middle of a poll is sound and has what was committed", async () => {
  const path = await soundStore();
  const left = join(tempFolder(), "store.db");
  const database = openStore(path);
  await addTarget(database, "eu");
  await sql`begin`.execute(database.kysely);
  await addTarget(database, "uncommitted");
  for (const end of ["", "-wal"]) copyFileSync(path + end, left + end);
  await sql`rollback`.execute(database.kysely);
  expect(await regions(openStore(left))).toEqual(["us", "eu"]);
});

it("a store whose holder was killed while it was made is made anew", async () => {
  const path = newStorePath();
  const left = join(tempFolder(), "store.db");
  using maker = new DatabaseSync(path);
  // Spilled to the file before it is committed, with the journal that undoes it beside.
  maker.exec("pragma cache_size = 1; pragma cache_spill = 1; begin");
  for (let table = 0; table < 50; table += 1) maker.exec(`create table t${table} (a primary key)`);
  for (const end of ["", "-journal"]) copyFileSync(path + end, left + end);
  expect(readFileSync(left).length).toBeGreaterThan(0);
  expect(await regions(openStore(left))).toEqual([]);
});

function execute(path: string, statement: string): void {
  using database = new DatabaseSync(path);
  database.exec(statement);
}

function overwrite(path: string, from: number, length: number): void {
  const bytes = readFileSync(path);
  bytes.fill(0xa5, from, from + length);
  writeFileSync(path, bytes);
}
