import { closeSync, fstatSync, openSync, readSync, statSync, writeSync } from "node:fs";
import { join } from "node:path";
import { setImmediate } from "node:timers/promises";
import { sql } from "kysely";
import { expect, it } from "vitest";
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
      const { reject } = taken;
      taken = Promise.withResolvers();
      asked = Promise.withResolvers();
      reject(new Error("EIO: i/o error, fdatasync"));
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

/** In a transaction. */
function present(kysely: OpenDatabase["kysely"]): Promise<readonly string[]> {
  return kysely.transaction().execute((trx) => scopes(trx));
}

async function readAgain(path: string): Promise<readonly string[]> {
  const { kysely, close } = openDatabase(path);
  const found = await scopes(kysely);
  await close();
  return found;
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

/** The log as it would be where the disk had none of what it refused: its last page is gone. */
function losePage(path: string): () => void {
  const log = openSync(`${path}-wal`, "r+");
  const { size } = fstatSync(log);
  const page = new Uint8Array(8_192);
  readSync(log, page, { position: size - page.length });
  writeSync(log, new Uint8Array(page.length), 0, page.length, size - page.length);
  return () => {
    writeSync(log, page, 0, page.length, size - page.length);
    closeSync(log);
  };
}

it("what the disk refused is over once it was written again and the disk has that", async () => {
  const disk = slowDisk();
  const failures: unknown[] = [];
  const onDiskFailure = (error: unknown): void => void failures.push(error);
  const store = await open({ sync: disk.sync, patienceMs: 1, onDiskFailure });
  let isOver = false;
  const writing = insertInTransaction(store, "a").then(() => (isOver = true));
  await disk.asked();
  const reading = scopes(store.reader).catch((error: unknown) => error);
  const { mtimeNs: writtenNs } = statSync(`${store.path}-wal`, { bigint: true });
  disk.fail();
  expect(String(await reading)).toContain("EIO");
  await disk.asked();
  expect(statSync(`${store.path}-wal`, { bigint: true }).mtimeNs).toBeGreaterThan(writtenNs);
  await expect(scopes(store.reader)).rejects.toThrow("EIO");
  await expect(present(store.reader)).rejects.toThrow("EIO");
  expect(store.check).toThrow("EIO");
  disk.fail();
  await disk.asked();
  expect(isOver).toBe(false);

  disk.take();
  await writing;
  expect(store.check).not.toThrow();
  expect(failures).toHaveLength(1);
  expect(await scopes(store.reader)).toEqual(["a"]);
  expect(await present(store.reader)).toEqual(["a"]);
  await store.close();
  expect(await readAgain(store.path)).toEqual(["a"]);
});

it("what was lost of the log with what the disk refused is never over, and said", async () => {
  const disk = slowDisk();
  const said = Promise.withResolvers<unknown>();
  const onDiskFailure = (error: unknown): void => {
    if (String(error).includes("not what was written")) said.resolve(error);
  };
  const store = await open({ sync: disk.sync, patienceMs: 1, onDiskFailure });
  let isOver = false;
  const writing = insertInTransaction(store, "a").then(() => (isOver = true));
  await disk.asked();
  const findPage = losePage(store.path);
  disk.fail();
  await said.promise;
  await someTurns();
  expect([isOver, disk.times()]).toEqual([false, 1]);
  expect(store.check).toThrow("see to the disk");

  findPage();
  await disk.asked();
  disk.take();
  await writing;
  await store.close();
});

it("a store that is closed while the disk is slow waits for what is being committed", async () => {
  const disk = slowDisk();
  const store = await open({ sync: disk.sync });
  let ended = 0;
  const writing = insert(store, "a").then(() => void (ended += 1));
  await disk.asked();
  const closing = store.close().then(() => void (ended += 1));
  await someTurns();
  expect(ended).toBe(0);
  disk.take();
  await writing;
  await closing;
  expect(await readAgain(store.path)).toEqual(["a"]);
});

it("what need not survive a crash of the machine is not waited for", async () => {
  const disk = slowDisk();
  const store = await open({ sync: disk.sync, isTemporary: true });
  await insertInTransaction(store, "a");
  expect(disk.times()).toBe(0);
  await store.close();
});
