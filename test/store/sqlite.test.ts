import { execFileSync } from "node:child_process";
import {
  chmodSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  readFileSync,
  readdirSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { dirname, join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { sql } from "kysely";
import { describe, expect, it, onTestFinished } from "vitest";
import { migrations } from "../../src/store/schema.ts";
import { openDatabase } from "../../src/store/sqlite/database.ts";
import { inMemory, isStoreInUse } from "../../src/store/sqlite/file-lock.ts";
import { asStoreError } from "../../src/store/sqlite/sqlite-error.ts";
import { openStore, openStoreReadOnly } from "../../src/store/store.ts";
import { freshStoreFile } from "../support/fresh-store.ts";
import { storeBytes } from "../support/store-dump.ts";
import { tempFolder } from "../support/temp-folder.ts";
import {
  open,
  newPath,
  target,
  regionsIn,
  soundStore,
  execute,
  refusal,
} from "./support/opened-stores.ts";

describe("a store", () => {
  it.each([0o000, 0o022])("is private to its user, with the umask %i", async (umask) => {
    const before = process.umask(umask);
    onTestFinished(() => void process.umask(before));
    const folder = join(tempFolder(), "data");
    const path = join(folder, "store.db");
    const { kysely, close } = openDatabase(path);
    await sql`insert into targets (region, key) values ('us', 'research')`
      .execute(kysely)
      .catch(() => {});
    const modes = () =>
      readdirSync(folder).map((name) => statSync(join(folder, name)).mode & 0o777);
    expect(modes().length).toBeGreaterThanOrEqual(4);
    expect([...new Set(modes()), statSync(folder).mode & 0o777]).toEqual([0o600, 0o700]);
    await close();
    // If others could read it, it becomes private when it is opened.
    chmodSync(path, 0o644);
    await openDatabase(path).close();
    expect(new Set(modes())).toEqual(new Set([0o600]));
  });

  it("is created with its folder, waits for the disk, and has all in one file once it is closed", async () => {
    const path = join(tempFolder(), "deep", "down", "store.db");
    const { kysely, close } = openDatabase(path);
    const pragma = async (name: string): Promise<unknown> => {
      const { rows } = await sql<object>`pragma ${sql.raw(name)}`.execute(kysely);
      return Object.values(rows[0] ?? {})[0];
    };
    expect(await pragma("journal_mode")).toBe("wal");
    expect(await pragma("synchronous")).toBe(2);
    expect(await pragma("foreign_keys")).toBe(1);
    await close();
    const left = readdirSync(join(path, ".."));
    expect(left.filter((name) => /-(wal|shm)$/.test(name))).toEqual([]);
    await openDatabase(path).close();
  });

  it("is created where an empty file lies, or where its creator was killed", async () => {
    const empty = newPath();
    writeFileSync(empty, "");
    expect(await regionsIn(open(empty))).toEqual([]);

    const [path, left] = [newPath(), newPath()];
    using maker = new DatabaseSync(path);
    // Spilled to the file before it is committed, with the journal that undoes it beside.
    maker.exec("pragma cache_size = 1; pragma cache_spill = 1; begin");
    for (let table = 0; table < 50; table += 1)
      maker.exec(`create table t${table} (a primary key)`);
    for (const end of ["", "-journal"]) copyFileSync(path + end, left + end);
    expect(readFileSync(left).length).toBeGreaterThan(0);
    expect(await regionsIn(open(left))).toEqual([]);
  });

  it("has what was committed when its holder was killed within a transaction", async () => {
    const [path, left] = [await soundStore(), newPath()];
    const { kysely, close } = openDatabase(path);
    await sql`update targets set region = 'eu'`.execute(kysely);
    await sql`begin`.execute(kysely);
    await sql`update targets set region = 'uncommitted'`.execute(kysely);
    for (const end of ["", "-wal"]) copyFileSync(path + end, left + end);
    await sql`rollback`.execute(kysely);
    await close();
    expect(await regionsIn(open(left))).toEqual(["eu"]);
  });

  it("in memory leaves nothing behind", async () => {
    const store = open(inMemory);
    await store.targets.addAll([target("us")]);
    expect(await regionsIn(store)).toEqual(["us"]);
    expect(existsSync(inMemory)).toBe(false);
    expect(isStoreInUse(inMemory)).toBe(false);
  });

  it("whose transaction SQLite has rolled back itself reports the cause, and goes on", async () => {
    const { kysely, close } = openDatabase(inMemory);
    onTestFinished(close);
    const failed = kysely.transaction().execute(async (trx) => {
      await sql`rollback`.execute(trx);
      throw new Error("database or disk is full");
    });
    await expect(failed).rejects.toThrow("database or disk is full");
    expect((await sql`select 1 as one`.execute(kysely)).rows).toEqual([{ one: 1 }]);
  });
});

describe("a file that is not a store of this version is left as it is, and refused", () => {
  const damaged = /store\.db is damaged or is not an SQLite database\. It was not changed/;

  it.each<readonly [what: string, spoil: (path: string) => void, message: RegExp]>([
    [
      "of a newer version",
      (path) => execute(path, "pragma user_version = 1000"),
      new RegExp(`version is 1000; this version supports ${migrations.length}\\)`),
    ],
    [
      "from before version 1",
      (path) => execute(path, "drop table commit_sequence; pragma user_version = 21"),
      /a version of sandwatch before 1.*Move it away to start with an empty one/,
    ],
    [
      "of another program",
      (path) => execute(path, "pragma application_id = 7"),
      /is a database of another program/,
    ],
    [
      "of a program that does not give its name",
      (path) => {
        rmSync(path);
        execute(path, "create table notes (text)");
      },
      /is a database of another program/,
    ],
    ["text", (path) => writeFileSync(path, "regions:\n  us: {}\n".repeat(99)), damaged],
    [
      "a store with a page overwritten",
      (path) => {
        const bytes = readFileSync(path);
        writeFileSync(path, bytes.fill(0xa5, 8_192, 16_384));
      },
      damaged,
    ],
  ])("%s", async (_, spoil, message) => {
    const path = await soundStore();
    spoil(path);
    const before = storeBytes(path);
    expect(refusal(path)).toMatch(message);
    expect(storeBytes(path)).toEqual(before);
    // It is not held after it was refused.
    expect(refusal(path)).toMatch(message);
  });

  it("an empty file by a reader, and a directory or a folder that cannot be by anyone", () => {
    const path = newPath();
    writeFileSync(path, "");
    expect(refusal(path, openStoreReadOnly)).toMatch(/is empty: the daemon has not run on it yet/);
    expect(refusal(join(path, "store.db"))).toMatch(/store\.db cannot be opened: /);
    const folder = newPath();
    mkdirSync(folder);
    expect(refusal(folder)).toMatch(/store\.db cannot be opened: .+ \(it is a directory\)/);
  });

  it.each([openStore, openStoreReadOnly])(
    "a pipe, and so a device, which is not changed",
    (opened) => {
      const path = newPath();
      execFileSync("mkfifo", ["--mode=644", path]);
      expect(refusal(path, opened)).toMatch(/store\.db cannot be opened: it is a device, a pipe/);
      expect(statSync(path).mode & 0o777).toBe(0o644);
      expect(readdirSync(dirname(path))).toEqual(["store.db"]);
    },
  );
});

describe("a store that lacks something is refused by writers and readers", () => {
  it.each([
    ["drop table targets", "the table targets is missing"],
    ["alter table silences drop column reason", "the column silences.reason is missing"],
    ["drop index incidents_open", "the index incidents_open is missing"],
    [
      "create trigger t after insert on changes begin delete from incidents; end",
      "it has the trigger t that is not its own",
    ],
    [
      "create view v as select 1; create trigger t instead of insert on v begin delete from incidents; end",
      "it has the view v that is not its own",
    ],
    [
      "create table mine (rule text references incidents (id))",
      "it has the table mine that is not its own",
    ],
    ["create virtual table words using fts5 (word)", "it has the table words that is not its own"],
    [
      "create index raised on incidents (json(rule))",
      "it has the index raised that is not its own",
    ],
    ["create index mine on incidents (rule)", "it has the index mine that is not its own"],
    ["create unique index one on incidents (rule)", "it has the index one that is not its own"],
    [
      "alter table silences add column more text check (more = 'a')",
      "the table silences was changed",
    ],
    [
      "drop index incidents_open; create index incidents_open on incidents (rule)",
      "the index incidents_open was changed",
    ],
    ["insert into commit_sequence (value) values (7)", "commit_sequence must have one row"],
    [
      `insert into changes values (1, 1, 0, 1, null, 'idle', 'error', null, null, 0, 1, null)`,
      "commit_sequence is behind",
    ],
  ])("after %s", (statements, message) => {
    const path = freshStoreFile();
    execute(path, `pragma journal_mode = delete; pragma foreign_keys = off; ${statements}`);
    for (const openIt of [openStore, openStoreReadOnly]) {
      expect(refusal(path, openIt)).toContain(message);
      expect(refusal(path, openIt)).toMatch(/Undo that change, restore a copy/);
    }
  });

  it("but not for statistics", async () => {
    const path = freshStoreFile();
    execute(path, "pragma journal_mode = delete; analyze");
    await expect(openStoreReadOnly(path).close()).resolves.toBeUndefined();
    await expect(openStore(path).close()).resolves.toBeUndefined();
  });
});

it.each([
  [{ errcode: 13, errstr: "full" }, "its disk is full. Free space and start again."],
  [{ code: "EROFS" }, "its file system is read-only. Mount it so that it can be written"],
  [{ code: "EACCES" }, "this user may not read and write it (EACCES). Grant access to this user"],
])("an error %o is named as what it is", (fields, message) => {
  const error = asStoreError(Object.assign(new Error("failed"), fields), "/data/s.db");
  expect(String(error)).toContain(`The store /data/s.db cannot be opened: ${message}`);
});
