import { openSync, readSync, closeSync, rmSync, statSync, existsSync, renameSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { expect, it, onTestFinished } from "vitest";
import { createLogTakeOvers } from "../../src/store/log-take-overs.ts";
import type { LogSizes } from "../../src/store/log-take-overs.ts";
import { tempFolder } from "../support/temp-folder.ts";

const mebibyte = 1024 * 1024;

/** @param leftBytes in the log before */
function openFile(sizes: LogSizes, leftBytes = 0) {
  const file = join(tempFolder(), "store.db");
  const database = new DatabaseSync(file);
  onTestFinished(() => database.close());
  database.exec("pragma journal_mode = wal; pragma application_id = 7; create table t (a blob)");
  database.exec("pragma wal_checkpoint(truncate); pragma wal_autocheckpoint = 0");
  const insert = (bytes: number): unknown =>
    database.prepare("insert into t values (?)").run(new Uint8Array(bytes));
  if (leftBytes > 0) insert(leftBytes);
  let turn = Promise.resolve();
  const takeTurn = (work: () => Promise<void>): Promise<void> => {
    const ended = turn.then(work);
    turn = ended.catch(() => {});
    return ended;
  };
  const takeOvers = createLogTakeOvers(database, takeTurn, sizes);
  const write = async (bytes: number): Promise<void> => {
    await takeTurn(async () => void insert(bytes));
    takeOvers.count(bytes);
  };
  return { file, database, takeOvers, takeTurn, write };
}

function stored(file: string): unknown {
  using other = new DatabaseSync(file, { readOnly: true });
  return other.prepare("select coalesce(sum(length(a)), 0) as bytes from t").get()?.["bytes"];
}

/** The first salt of the log, which grows by one each time that it begins anew. */
function logRound(file: string): number {
  const log = openSync(`${file}-wal`, "r");
  const header = new DataView(new ArrayBuffer(32));
  readSync(log, header);
  closeSync(log);
  return header.getUint32(16);
}

it.each([
  ["bytes", { bytes: 12 * mebibyte, transactions: 100 }, [8, 8]],
  ["transactions", { bytes: 64 * mebibyte, transactions: 3 }, [8, 0, 0]],
] as const)("after so many %s the log is taken over, and not before", async (_, sizes, writes) => {
  const { file, takeOvers, write } = openFile(sizes);
  for (const each of writes) {
    await takeOvers.settled();
    expect(statSync(file).size).toBeLessThan(mebibyte);
    await write(each * mebibyte);
  }
  await takeOvers.settled();
  expect(statSync(file).size).toBeGreaterThan(8 * mebibyte);
});

it("what one that was killed left in the log counts", async () => {
  const sizes = { bytes: 8 * mebibyte, transactions: 100 };
  const { file, takeOvers, write } = openFile(sizes, 8 * mebibyte);
  await write(1);
  await takeOvers.settled();
  expect(statSync(file).size).toBeGreaterThan(8 * mebibyte);
});

it("a log to which is always written more is taken over whole, and begins anew in the thread", async () => {
  const { file, takeOvers, write } = openFile({ bytes: 8 * mebibyte, transactions: 100 });
  await write(1);
  for (let round = 1; round <= 4; round += 1) {
    const before = logRound(file);
    await write(8 * mebibyte);
    await write(4 * mebibyte);
    await takeOvers.settled();
    expect(logRound(file)).toBe(before + 1);
    await write(1);
    expect(logRound(file)).toBe(before + 1);
  }
  expect(stored(file)).toBe(4 * (12 * mebibyte + 1) + 1);
  expect(statSync(`${file}-wal`).size).toBeLessThan(20 * mebibyte);
});

it("the file stays whose it is", async () => {
  const { database, takeOvers, write } = openFile({ bytes: 1, transactions: 1 });
  await write(1);
  await takeOvers.settled();
  expect(database.prepare("pragma application_id").get()).toEqual({ application_id: 7 });
});

it("who reads of the log keeps it from beginning anew, and is not disturbed", async () => {
  const { file, takeOvers, write } = openFile({ bytes: mebibyte, transactions: 100 });
  await write(1);
  using other = new DatabaseSync(file, { readOnly: true });
  other.exec("begin");
  const seen = () => other.prepare("select sum(length(a)) as bytes from t").get()?.["bytes"];
  expect(seen()).toBe(1);
  const round = logRound(file);
  await write(2 * mebibyte);
  await takeOvers.settled();
  expect(seen()).toBe(1);
  expect(logRound(file)).toBe(round);
  other.exec("rollback");
  await write(2 * mebibyte);
  await takeOvers.settled();
  expect(logRound(file)).toBeGreaterThan(round);
  expect(stored(file)).toBe(4 * mebibyte + 1);
});

it("where the thread can not, it is done without one", async () => {
  const { file, takeOvers, write } = openFile({ bytes: mebibyte, transactions: 100 });
  renameSync(file, `${file}.moved`);
  await write(2 * mebibyte);
  await takeOvers.settled();
  expect(existsSync(file)).toBe(false);
  expect(statSync(`${file}.moved`).size).toBeGreaterThan(2 * mebibyte);
  rmSync(`${file}.moved`);
});

it("all of the log can be asked for at once, but for one that is being read", async () => {
  const { file, takeOvers, write } = openFile({ bytes: 64 * mebibyte, transactions: 100 });
  await write(2 * mebibyte);
  const other = new DatabaseSync(file, { readOnly: true });
  other.exec("begin");
  other.prepare("select count(*) from t").get();
  await expect(takeOvers.empty()).rejects.toThrow("the log is being read");
  other.close();
  await takeOvers.empty();
  expect(statSync(`${file}-wal`).size).toBe(0);
  expect(statSync(file).size).toBeGreaterThan(2 * mebibyte);
});
