import { openSync, readSync, closeSync, rmSync, statSync, existsSync, renameSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { setImmediate } from "node:timers/promises";
import { expect, it, onTestFinished } from "vitest";
import { createLogTakeOvers } from "../../src/store/log-take-overs.ts";
import { openWriteAheadLog } from "../../src/store/write-ahead-log.ts";
import { tempFolder } from "../support/temp-folder.ts";

const mebibyte = 1024 * 1024;

function openFile(mostBytes: number) {
  const file = join(tempFolder(), "store.db");
  const database = new DatabaseSync(file);
  database.exec("pragma journal_mode = wal; pragma application_id = 7; create table t (a blob)");
  const log = openWriteAheadLog(file, 4_096);
  onTestFinished(() => {
    database.close();
    log.close();
  });
  database.exec("pragma wal_checkpoint(truncate)");
  let turn = Promise.resolve();
  const takeTurn = (work: () => Promise<void>): Promise<void> => {
    const ended = turn.then(work);
    turn = ended.catch(() => {});
    return ended;
  };
  const takeOvers = createLogTakeOvers(database, takeTurn, mostBytes);
  const write = async (bytes: number): Promise<void> => {
    await takeTurn(async () => {
      database.prepare("insert into t values (?)").run(new Uint8Array(bytes));
      takeOvers.consider(log.look().frames * 4_096);
    });
  };
  return { file, database, takeOvers, write };
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

it("after so many bytes the log is taken over, and not before", async () => {
  const { file, takeOvers, write } = openFile(12 * mebibyte);
  for (let commit = 0; commit < 2; commit += 1) {
    await takeOvers.settled();
    expect(statSync(file).size).toBeLessThan(mebibyte);
    await write(8 * mebibyte);
  }
  await takeOvers.settled();
  expect(statSync(file).size).toBeGreaterThan(16 * mebibyte);
});

it("a log to which is always written more is taken over whole, and begins anew in the thread", async () => {
  const { file, takeOvers, write } = openFile(8 * mebibyte);
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

it("a log that nobody lets begin anew is not tried at each commit", async () => {
  const { file, takeOvers, write } = openFile(mebibyte);
  await write(1);
  using other = new DatabaseSync(file, { readOnly: true });
  other.exec("begin; select count(*) from t");
  await write(2 * mebibyte);
  await takeOvers.settled();
  await write(1);
  let isAtOnce = false;
  await Promise.race([takeOvers.settled().then(() => (isAtOnce = true)), setImmediate()]);
  expect(isAtOnce).toBe(true);
});

it("what a very large transaction made longer gets shorter again", async () => {
  const { file, takeOvers, write } = openFile(8 * mebibyte);
  await write(160 * mebibyte);
  await takeOvers.settled();
  expect(statSync(`${file}-wal`).size).toBeLessThanOrEqual(128 * mebibyte);
});

it("the file stays whose it is", async () => {
  const { database, takeOvers, write } = openFile(1);
  await write(1);
  await takeOvers.settled();
  expect(database.prepare("pragma application_id").get()).toEqual({ application_id: 7 });
});

it("who reads of the log keeps it from beginning anew, and is not disturbed", async () => {
  const { file, takeOvers, write } = openFile(mebibyte);
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
  const { file, takeOvers, write } = openFile(mebibyte);
  renameSync(file, `${file}.moved`);
  await write(2 * mebibyte);
  await takeOvers.settled();
  expect(existsSync(file)).toBe(false);
  expect(statSync(`${file}.moved`).size).toBeGreaterThan(2 * mebibyte);
  rmSync(`${file}.moved`);
});
