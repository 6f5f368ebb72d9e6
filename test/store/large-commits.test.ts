import { statSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { expect, it, onTestFinished } from "vitest";
import { createLargeCommits } from "../../src/store/large-commits.ts";
import type { LogSizes } from "../../src/store/large-commits.ts";
import { tempFolder } from "../support/temp-folder.ts";

const mebibyte = 1024 * 1024;

/** A log is taken over after each large commit. */
const short = { bytes: 4 * mebibyte, transactions: 16, longest: 1_024 * mebibyte };

/** @param leftBytes in the log before */
function openFile(sizes: LogSizes, leftBytes = 0) {
  const file = join(tempFolder(), "store.db");
  const database = new DatabaseSync(file);
  onTestFinished(() => database.close());
  database.exec("pragma journal_mode = wal; pragma synchronous = full; create table t (a blob)");
  database.exec("pragma wal_checkpoint(truncate)");
  if (leftBytes > 0) {
    database.exec("pragma wal_autocheckpoint = 0");
    database.prepare("insert into t values (?)").run(new Uint8Array(leftBytes));
  }
  const largeCommits = createLargeCommits(database, file, sizes);
  const write = async (bytes: number, end: "commit" | "rollback") => {
    database.exec("begin");
    database.prepare("insert into t values (?)").run(new Uint8Array(bytes));
    largeCommits.written(bytes);
    if (end === "commit") await largeCommits.prepare();
    database.exec(end);
    largeCommits.ended();
  };
  return { file, database, largeCommits, write };
}

function stored(file: string): unknown {
  using other = new DatabaseSync(file, { readOnly: true });
  return other.prepare("select coalesce(sum(length(a)), 0) as bytes from t").get()?.["bytes"];
}

function checkpointAfter(database: DatabaseSync): unknown {
  return Object.values(database.prepare("pragma wal_autocheckpoint").get() ?? {})[0];
}

it("a large commit leaves the log to a thread, and what was written is there at once", async () => {
  const { file, database, largeCommits, write } = openFile(short);
  await write(8 * mebibyte, "commit");
  expect(stored(file)).toBe(8 * mebibyte);
  expect(checkpointAfter(database)).toBe(0);
  await largeCommits.settled();
  expect(statSync(file).size).toBeGreaterThan(8 * mebibyte);
  expect(checkpointAfter(database)).toBe(1_000);
});

it.each([
  ["bytes", { ...short, bytes: 20 * mebibyte }, [8, 8, 4]],
  ["transactions", { ...short, bytes: 20 * mebibyte, transactions: 3 }, [8, 0, 0]],
] as const)(
  "the log of a large commit waits for so many %s before a thread takes it over",
  async (_, sizes, writes) => {
    const { file, database, largeCommits, write } = openFile(sizes);
    const sizesBefore: number[] = [];
    for (const size of writes) {
      await largeCommits.settled();
      sizesBefore.push(statSync(file).size);
      await write(size * mebibyte, "commit");
    }
    expect(Math.max(...sizesBefore)).toBeLessThan(mebibyte);
    expect(checkpointAfter(database)).toBe(0);
    await largeCommits.settled();
    expect(statSync(file).size).toBeGreaterThan(8 * mebibyte);
    expect(checkpointAfter(database)).toBe(1_000);
  },
);

it("commits go on while a thread takes the log over", async () => {
  const { file, largeCommits, write } = openFile(short);
  await write(8 * mebibyte, "commit");
  await write(8 * mebibyte, "commit");
  await write(1, "commit");
  await largeCommits.settled();
  expect(stored(file)).toBe(16 * mebibyte + 1);
});

it("a log to which more is always added before a thread has all of it begins anew all the same", async () => {
  const sizes = { ...short, bytes: 8 * mebibyte, longest: 12 * mebibyte };
  const { file, largeCommits, write } = openFile(sizes);
  for (let round = 0; round < 4; round++) {
    // Who reads keeps the thread from what is written after.
    using other = new DatabaseSync(file, { readOnly: true });
    other.exec("begin; select count(*) from t");
    await write(8 * mebibyte, "commit");
    await largeCommits.settled();
    other.exec("rollback");
    await write(4 * mebibyte, "commit");
  }
  expect(stored(file)).toBe(4 * 12 * mebibyte);
  expect(statSync(`${file}-wal`).size).toBeLessThan(32 * mebibyte);
});

it("a log that was long already counts as long", async () => {
  const sizes = { ...short, bytes: 8 * mebibyte, longest: 16 * mebibyte };
  const { file, largeCommits, write } = openFile(sizes, 16 * mebibyte);
  using other = new DatabaseSync(file, { readOnly: true });
  other.exec("begin; select count(*) from t");
  await write(8 * mebibyte, "commit");
  await largeCommits.settled();
  other.exec("rollback");
  const logSize = () => statSync(`${file}-wal`).size;
  await write(4 * mebibyte, "commit");
  const longest = logSize();
  await write(4 * mebibyte, "commit");
  await largeCommits.settled();
  expect(logSize()).toBe(longest);
});

it.each([
  ["a small commit", 1, "commit"],
  ["a large transaction that is not committed", 8 * mebibyte, "rollback"],
] as const)("%s leaves all to SQLite", async (_, bytes, end) => {
  const { file, database, write } = openFile(short);
  await write(bytes, end);
  expect(checkpointAfter(database)).toBe(1_000);
  expect(stored(file)).toBe(end === "commit" ? bytes : 0);
});
