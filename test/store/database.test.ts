import { spawn } from "node:child_process";
import type { ChildProcessByStdio } from "node:child_process";
import { createHash } from "node:crypto";
import { once } from "node:events";
import {
  chmodSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  readFileSync,
  readdirSync,
  rmSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import type { Readable, Writable } from "node:stream";
import { fileURLToPath } from "node:url";
import { sql } from "kysely";
import { describe, expect, it, onTestFinished } from "vitest";
import { openDatabase, StoreError } from "../../src/store/database.ts";
import type { OpenDatabase } from "../../src/store/database.ts";
import { migrations } from "../../src/store/migrations.ts";
import { tempFolder } from "../support/temp-folder.ts";

function open(path: string): OpenDatabase {
  const database = openDatabase(path);
  let closing: Promise<void> | undefined;
  const close = (): Promise<void> => (closing ??= database.close());
  onTestFinished(close);
  return { ...database, close };
}

function newPath(): string {
  return join(tempFolder(), "store.db");
}

async function pragma({ kysely }: OpenDatabase, name: string): Promise<unknown> {
  const { rows } = await sql<Record<string, unknown>>`pragma ${sql.raw(name)}`.execute(kysely);
  return Object.values(rows[0] ?? {})[0];
}

/** Opens what cannot be opened and gives the message. */
function refusal(path: string): string {
  try {
    openDatabase(path);
  } catch (error) {
    if (error instanceof StoreError) return error.message;
    throw error;
  }
  throw new Error("it was opened");
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

/** A sound store with a target in it, closed. */
async function soundStore(): Promise<string> {
  const path = newPath();
  const database = openDatabase(path);
  await addTarget(database, "us");
  await database.close();
  return path;
}

async function addTarget({ kysely }: OpenDatabase, region: string): Promise<void> {
  await kysely
    .insertInto("targets")
    .values({
      region,
      key: "research",
      attempted_polls: 0,
      attempted_ms: 0,
      observed_polls: 0,
      observed_ms: 0,
      failures_in_a_row: 0,
      last_failure: null,
      last_poll_at_ms: null,
      last_success_at_ms: null,
      last_complete: 0,
    })
    .execute();
}

async function regions({ kysely }: OpenDatabase): Promise<readonly string[]> {
  const rows = await kysely.selectFrom("targets").select("region").orderBy("id").execute();
  return rows.map(({ region }) => region);
}

describe("a new store", () => {
  it("is made with its folder, and is durable", async () => {
    const database = open(join(tempFolder(), "deep", "down", "store.db"));
    expect(await pragma(database, "journal_mode")).toBe("wal");
    expect(await pragma(database, "synchronous")).toBe(2);
    expect(await pragma(database, "foreign_keys")).toBe(1);
    expect(await pragma(database, "user_version")).toBe(migrations.length);
    expect(await pragma(database, "application_id")).toBe(0x73776368);
  });

  it("is made also where an empty file lies", async () => {
    const path = newPath();
    writeFileSync(path, "");
    expect(await regions(open(path))).toEqual([]);
  });

  it("keeps everything when opened again, and is as durable as before", async () => {
    const database = open(await soundStore());
    expect(await regions(database)).toEqual(["us"]);
    expect(await pragma(database, "journal_mode")).toBe("wal");
    expect(await pragma(database, "synchronous")).toBe(2);
  });

  it("has all in its one file once it is closed, also when nobody asked it for anything", async () => {
    const path = newPath();
    await open(path).close();
    const left = readdirSync(join(path, ".."));
    expect(left.filter((name) => /-(wal|shm)$/.test(name))).toEqual([]);
  });

  it("leaves nothing behind in memory alone", async () => {
    const database = open(":memory:");
    await addTarget(database, "us");
    expect(await regions(database)).toEqual(["us"]);
    expect(existsSync(":memory:")).toBe(false);
  });
});

describe("one process at a time", () => {
  const inUse =
    /store\.db is in use by another sandwatch\. Stop that one, or give this one another/;

  it("a second opening is refused while the first one holds it, and not after", async () => {
    const path = newPath();
    const first = open(path);
    expect(refusal(path)).toMatch(inUse);
    await addTarget(first, "us");
    await first.close();
    expect(await regions(open(path))).toEqual(["us"]);
  });

  it("an opening by another name of the same file is refused", async () => {
    const path = newPath();
    const first = open(path);
    const folder = tempFolder();
    symlinkSync(path, join(folder, "link.db"));
    symlinkSync(join(path, ".."), join(folder, "there"));
    expect(refusal(join(folder, "link.db"))).toMatch(inUse);
    expect(refusal(join(folder, "there", "store.db"))).toMatch(inUse);
    await first.close();
  });

  it("an opening by another name is refused also where there was no file before", async () => {
    const folder = tempFolder();
    const link = join(tempFolder(), "there");
    symlinkSync(folder, link);
    const first = open(join(link, "store.db"));
    expect(refusal(join(folder, "store.db"))).toMatch(inUse);
    await first.close();
  });

  it("an opening from another process is refused; a killed holder holds no more", async () => {
    const path = newPath();
    const holder = await hold(path);
    expect(refusal(path)).toMatch(inUse);
    holder.kill("SIGKILL");
    await once(holder, "exit");
    expect(await regions(open(path))).toEqual([]);
  });

  it("a holder that closes holds no more", async () => {
    const path = newPath();
    const holder = await hold(path);
    holder.stdin.end();
    await once(holder, "exit");
    expect(await regions(open(path))).toEqual([]);
  });

  it("others may read while it is held", async () => {
    const path = newPath();
    await addTarget(open(path), "us");
    using reader = new DatabaseSync(path, { readOnly: true });
    expect(reader.prepare("select region from targets").all()).toEqual([{ region: "us" }]);
  });
});

describe("a file that cannot be used is left as it is, and the message says why", () => {
  const damaged = /store\.db is damaged or is no SQLite database\. It was left as it is/;

  it.each<readonly [what: string, spoil: (path: string) => void, message: RegExp]>([
    [
      "a store of a newer version",
      (path) => execute(path, `pragma user_version = ${migrations.length + 1}`),
      new RegExp(
        `was written by a newer sandwatch \\(store version ${migrations.length + 1}, this one knows ${migrations.length}\\)`,
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
    ["a store with a page overwritten", (path) => overwrite(path, 4_096, 4_096), damaged],
  ])("%s", async (_, spoil, message) => {
    const path = await soundStore();
    spoil(path);
    const before = hashes(path);
    expect(refusal(path)).toMatch(message);
    expect(hashes(path)).toEqual(before);
    expect(refusal(path)).toMatch(message);
  });

  it.each([
    ["a newer version", `pragma user_version = ${migrations.length + 1}`],
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
    const path = newPath();
    mkdirSync(path);
    expect(refusal(path)).toMatch(/store\.db cannot be opened: .+ \(it is a directory\)/);
  });

  it("a place below a file", () => {
    const path = newPath();
    writeFileSync(path, "not a folder");
    expect(refusal(join(path, "store.db"))).toMatch(/store\.db cannot be opened: /);
    expect(readFileSync(path, "utf8")).toBe("not a folder");
  });

  it.skipIf(process.getuid?.() === 0)("a folder that may not be written", () => {
    const path = newPath();
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
    expect(await regions(open(path))).toEqual(["us"]);
  });
});

it("a store whose holder was killed in the middle of a poll is sound and has what was committed", async () => {
  const path = await soundStore();
  const left = join(tempFolder(), "store.db");
  const database = open(path);
  await addTarget(database, "eu");
  await sql`begin`.execute(database.kysely);
  await addTarget(database, "uncommitted");
  for (const end of ["", "-wal"]) copyFileSync(path + end, left + end);
  await sql`rollback`.execute(database.kysely);
  expect(await regions(open(left))).toEqual(["us", "eu"]);
});

it("a store whose holder was killed while it was made is made anew", async () => {
  const path = newPath();
  const left = join(tempFolder(), "store.db");
  using maker = new DatabaseSync(path);
  // Spilled to the file before it is committed, with the journal that undoes it beside.
  maker.exec("pragma cache_size = 1; pragma cache_spill = 1; begin");
  for (let table = 0; table < 50; table += 1) maker.exec(`create table t${table} (a primary key)`);
  for (const end of ["", "-journal"]) copyFileSync(path + end, left + end);
  expect(readFileSync(left).length).toBeGreaterThan(0);
  expect(await regions(open(left))).toEqual([]);
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

type Holder = ChildProcessByStdio<Writable, Readable, null>;

async function hold(path: string): Promise<Holder> {
  const program = fileURLToPath(new URL("support/hold-store.ts", import.meta.url));
  const holder = spawn(process.execPath, [program, path], { stdio: ["pipe", "pipe", "inherit"] });
  onTestFinished(() => void holder.kill("SIGKILL"));
  const [line] = await once(holder.stdout, "data");
  expect(String(line)).toBe("held\n");
  return holder;
}
