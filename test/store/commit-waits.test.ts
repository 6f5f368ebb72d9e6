import { statSync } from "node:fs";
import { DatabaseSync } from "node:sqlite";
import { join } from "node:path";
import { setImmediate } from "node:timers/promises";
import { sql } from "kysely";
import { expect, it, onTestFinished } from "vitest";
import { openDatabase } from "../../src/store/database.ts";
import type { OpenDatabase, OpenOptions } from "../../src/store/database.ts";
import { tempFolder } from "../support/temp-folder.ts";

/** A disk that takes nothing before it is let, or fails. */
function slowDisk() {
  let taken = Promise.withResolvers<void>();
  let asked = Promise.withResolvers<void>();
  let times = 0;
  return {
    sync: async (): Promise<void> => {
      times += 1;
      asked.resolve();
      await taken.promise;
    },
    times: () => times,
    /** Once it is waited for. */
    asked: () => asked.promise,
    take(): void {
      const { resolve } = taken;
      taken = Promise.withResolvers();
      asked = Promise.withResolvers();
      resolve();
    },
    fail(): void {
      taken.reject(new Error("EIO: i/o error, fdatasync"));
      taken = Promise.withResolvers();
    },
  };
}

async function open(options: OpenOptions = {}) {
  const path = join(tempFolder(), "store.db");
  // Its tables are made before the disk is slow.
  await openDatabase(path).close();
  const opened = openDatabase(path, options);
  return { path, ...opened };
}

function insert({ kysely }: Pick<OpenDatabase, "kysely">, scope: string): Promise<unknown> {
  return kysely.insertInto("pool_clocks").values({ rule: "rule", scope, ms: 1 }).execute();
}

function insertInTransaction({ kysely }: OpenDatabase, scope: string): Promise<unknown> {
  return kysely.transaction().execute((trx) => insert({ kysely: trx }, scope));
}

async function scopes(kysely: OpenDatabase["kysely"]): Promise<readonly string[]> {
  const rows = await kysely.selectFrom("pool_clocks").select("scope").orderBy("scope").execute();
  return rows.map(({ scope }) => scope);
}

/** Turns of the event loop in which anything that is over would be seen to be. */
async function someTurns(): Promise<void> {
  for (let turn = 0; turn < 5; turn += 1) await setImmediate();
}

it.each([
  ["a transaction", insertInTransaction],
  ["a single statement", insert],
])("%s is over once the disk has it, and the event loop does not wait", async (_, write) => {
  const disk = slowDisk();
  const store = await open({ sync: disk.sync });
  let isOver = false;
  const writing = write(store, "a").then(() => (isOver = true));
  await disk.asked();
  await someTurns();
  expect(isOver).toBe(false);
  disk.take();
  await writing;
  expect(isOver).toBe(true);
  await store.close();
});

it("nothing is written behind what the disk may not have", async () => {
  const disk = slowDisk();
  const store = await open({ sync: disk.sync });
  const first = insertInTransaction(store, "a");
  await disk.asked();
  const second = insert(store, "b");
  await someTurns();
  expect(disk.times()).toBe(1);
  expect(await scopes(store.glance)).toEqual(["a"]);
  disk.take();
  await first;
  await disk.asked();
  disk.take();
  await second;
  expect(await scopes(store.glance)).toEqual(["a", "b"]);
  await store.close();
});

it("the reader gives what is committed once the disk has it; a glance does not wait", async () => {
  const disk = slowDisk();
  const store = await open({ sync: disk.sync });
  const writing = insertInTransaction(store, "a");
  await disk.asked();
  let read: readonly string[] | null = null;
  const reading = scopes(store.reader).then((found) => (read = found));
  await someTurns();
  expect(read).toBe(null);
  expect(await scopes(store.glance)).toEqual(["a"]);
  disk.take();
  await writing;
  expect(await reading).toEqual(["a"]);
  await store.close();
});

it("what wrote nothing does not ask for the disk: a rollback, a read, an empty transaction", async () => {
  const disk = slowDisk();
  const store = await open({ sync: disk.sync });
  const failing = store.kysely.transaction().execute(async (trx) => {
    await insert({ kysely: trx }, "a");
    throw new Error("not this one");
  });
  await expect(failing).rejects.toThrow("not this one");
  await scopes(store.kysely);
  await store.kysely.transaction().execute((trx) => sql`select 1`.execute(trx));
  expect(disk.times()).toBe(0);
  await store.close();
});

function logBytes(path: string): number {
  return statSync(`${path}-wal`).size;
}

it("what the disk refused is over once all of the log is in the database's file, and only then", async () => {
  const disk = slowDisk();
  const failures: unknown[] = [];
  const onDiskFailure = (error: unknown): void => void failures.push(error);
  const store = await open({ sync: disk.sync, patienceMs: 1, onDiskFailure });
  // Who reads keeps the log from being emptied.
  const other = new DatabaseSync(store.path, { readOnly: true });
  onTestFinished(() => other.close());
  other.exec("begin");
  other.prepare("select count(*) from pool_clocks").get();
  let isOver = false;
  const writing = insertInTransaction(store, "a").then(() => (isOver = true));
  await disk.asked();
  const reading = scopes(store.reader).catch((error: unknown) => error);
  disk.fail();
  expect(String(await reading)).toContain("EIO");
  await expect(scopes(store.reader)).rejects.toThrow("EIO");
  expect(isOver).toBe(false);
  expect(store.check).toThrow("EIO");

  other.exec("rollback");
  await writing;
  expect(store.check).not.toThrow();
  expect(failures).toHaveLength(1);
  expect(logBytes(store.path)).toBe(0);
  expect(await scopes(store.reader)).toEqual(["a"]);
  await store.close();
});

it("after a disk that failed was well again, commits wait for it as before", async () => {
  const disk = slowDisk();
  const store = await open({ sync: disk.sync, patienceMs: 1 });
  const first = insertInTransaction(store, "a");
  await disk.asked();
  disk.fail();
  await first;
  const second = insertInTransaction(store, "b");
  await someTurns();
  expect(disk.times()).toBe(2);
  disk.take();
  await second;
  await store.close();
});

it("what need not survive a crash of the machine is not waited for", async () => {
  const disk = slowDisk();
  const store = await open({ sync: disk.sync, isTemporary: true });
  await insertInTransaction(store, "a");
  expect(disk.times()).toBe(0);
  await store.close();
});
