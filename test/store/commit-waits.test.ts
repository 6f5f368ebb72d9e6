import { statSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { setImmediate } from "node:timers/promises";
import { expect, it, onTestFinished } from "vitest";
import { createCommitWaits } from "../../src/store/commit-waits.ts";
import type { CommitWaitsOptions, LogSizes } from "../../src/store/commit-waits.ts";
import { tempFolder } from "../support/temp-folder.ts";

const mebibyte = 1024 * 1024;

/** A log is taken over after each large commit. */
const short = {
  bytes: 4 * mebibyte,
  transactions: 16,
  transactionsOfLarge: 16,
  longest: 1_024 * mebibyte,
};

interface FileOptions extends Pick<CommitWaitsOptions, "sync"> {
  /** In the log before. */
  readonly leftBytes?: number;
}

function openFile(sizes: LogSizes, { leftBytes = 0, ...options }: FileOptions = {}) {
  const file = join(tempFolder(), "store.db");
  const database = new DatabaseSync(file);
  onTestFinished(() => database.close());
  database.exec("pragma journal_mode = wal; pragma synchronous = full; create table t (a blob)");
  database.exec("pragma wal_checkpoint(truncate)");
  if (leftBytes > 0) {
    database.exec("pragma wal_autocheckpoint = 0");
    database.prepare("insert into t values (?)").run(new Uint8Array(leftBytes));
  }
  const waits = createCommitWaits(database, file, { sizes, ...options });
  const write = async (bytes: number, end: "commit" | "rollback") => {
    waits.begins();
    database.exec("begin");
    database.prepare("insert into t values (?)").run(new Uint8Array(bytes));
    waits.written(bytes);
    if (end === "commit") waits.prepare();
    database.exec(end);
    if (end === "commit") await waits.committed();
    else waits.rolledBack();
  };
  return { file, database, waits, write };
}

function stored(file: string): unknown {
  using other = new DatabaseSync(file, { readOnly: true });
  return other.prepare("select coalesce(sum(length(a)), 0) as bytes from t").get()?.["bytes"];
}

function checkpointAfter(database: DatabaseSync): unknown {
  return Object.values(database.prepare("pragma wal_autocheckpoint").get() ?? {})[0];
}

it("a large commit leaves the log to a thread, and what was written is there at once", async () => {
  const { file, database, waits, write } = openFile(short);
  await write(8 * mebibyte, "commit");
  expect(stored(file)).toBe(8 * mebibyte);
  expect(checkpointAfter(database)).toBe(0);
  await waits.settled();
  expect(statSync(file).size).toBeGreaterThan(8 * mebibyte);
  expect(checkpointAfter(database)).toBe(16_000);
});

it.each([
  ["bytes", { ...short, bytes: 20 * mebibyte }, [8, 8, 4]],
  ["transactions", { ...short, bytes: 20 * mebibyte, transactionsOfLarge: 3 }, [8, 0, 0]],
] as const)(
  "the log of a large commit waits for so many %s before a thread takes it over",
  async (_, sizes, writes) => {
    const { file, database, waits, write } = openFile(sizes);
    const sizesBefore: number[] = [];
    for (const size of writes) {
      await waits.settled();
      sizesBefore.push(statSync(file).size);
      await write(size * mebibyte, "commit");
    }
    expect(Math.max(...sizesBefore)).toBeLessThan(mebibyte);
    expect(checkpointAfter(database)).toBe(0);
    await waits.settled();
    expect(statSync(file).size).toBeGreaterThan(8 * mebibyte);
    expect(checkpointAfter(database)).toBe(16_000);
  },
);

it("commits go on while a thread takes the log over", async () => {
  const { file, waits, write } = openFile(short);
  await write(8 * mebibyte, "commit");
  await write(8 * mebibyte, "commit");
  await write(1, "commit");
  await waits.settled();
  expect(stored(file)).toBe(16 * mebibyte + 1);
});

it("a log to which more is always added before a thread has all of it begins anew all the same", async () => {
  const sizes = { ...short, bytes: 8 * mebibyte, longest: 12 * mebibyte };
  const { file, waits, write } = openFile(sizes);
  for (let round = 0; round < 4; round++) {
    // Who reads keeps the thread from what is written after.
    using other = new DatabaseSync(file, { readOnly: true });
    other.exec("begin; select count(*) from t");
    await write(8 * mebibyte, "commit");
    await waits.settled();
    other.exec("rollback");
    await write(4 * mebibyte, "commit");
  }
  expect(stored(file)).toBe(4 * 12 * mebibyte);
  expect(statSync(`${file}-wal`).size).toBeLessThan(32 * mebibyte);
});

it("a log that was long already counts as long", async () => {
  const sizes = { ...short, bytes: 8 * mebibyte, longest: 16 * mebibyte };
  const { file, waits, write } = openFile(sizes, { leftBytes: 16 * mebibyte });
  using other = new DatabaseSync(file, { readOnly: true });
  other.exec("begin; select count(*) from t");
  await write(8 * mebibyte, "commit");
  await waits.settled();
  other.exec("rollback");
  const logSize = () => statSync(`${file}-wal`).size;
  await write(4 * mebibyte, "commit");
  const longest = logSize();
  await write(4 * mebibyte, "commit");
  await waits.settled();
  expect(logSize()).toBe(longest);
});

it.each([
  ["a small commit", 1, "commit"],
  ["a large transaction that is not committed", 8 * mebibyte, "rollback"],
] as const)("%s leaves all to SQLite", async (_, bytes, end) => {
  const { file, database, write } = openFile(short);
  await write(bytes, end);
  expect(checkpointAfter(database)).toBe(16_000);
  expect(stored(file)).toBe(end === "commit" ? bytes : 0);
});

function synchronous(database: DatabaseSync): unknown {
  return database.prepare("pragma synchronous").get()?.["synchronous"];
}

const full = 2;
const normal = 1;

it("a commit is over once the disk has its log, and the event loop does not wait meanwhile", async () => {
  const disk = Promise.withResolvers<void>();
  const asked = Promise.withResolvers<void>();
  const sync = (): Promise<void> => {
    asked.resolve();
    return disk.promise;
  };
  const { file, database, write } = openFile(short, { sync });
  let isOver = false;
  const writing = write(1, "commit").then(() => (isOver = true));
  await asked.promise;
  expect(stored(file)).toBe(1);
  expect(synchronous(database)).toBe(normal);
  await setImmediate();
  expect(isOver).toBe(false);
  disk.resolve();
  await writing;
  expect(isOver).toBe(true);
});

it.each(["commit", "rollback"] as const)(
  "what is written after a %s without a transaction waits for the disk",
  async (end) => {
    const { database, write } = openFile(short);
    await write(1, end);
    expect(synchronous(database)).toBe(full);
  },
);

it("a rollback does not ask for the disk", async () => {
  let asked = 0;
  const { write } = openFile(short, { sync: async () => void asked++ });
  await write(1, "rollback");
  expect(asked).toBe(0);
  await write(1, "commit");
  expect(asked).toBe(1);
});

it("once the disk failed, SQLite waits for it by itself, and its commits fail where it does", async () => {
  let asked = 0;
  const sync = async (): Promise<void> => {
    asked += 1;
    throw new Error("EIO");
  };
  const { file, database, waits, write } = openFile(short, { sync });
  await write(1, "commit");
  waits.begins();
  expect(synchronous(database)).toBe(full);
  await write(1, "commit");
  expect(asked).toBe(1);
  expect(stored(file)).toBe(2);
});

it("what need not survive a crash of the machine is not waited for", async () => {
  let asked = 0;
  const { database, write } = openFile(short, { sync: async () => void asked++ });
  database.exec("pragma synchronous = off");
  await write(1, "commit");
  expect(asked).toBe(0);
  expect(synchronous(database)).toBe(0);
});

it("a thread takes the log of many small commits over", async () => {
  const { file, waits, write } = openFile({ ...short, transactions: 3 });
  for (let commit = 0; commit < 2; commit += 1) await write(99_999, "commit");
  await waits.settled();
  expect(statSync(file).size).toBeLessThan(99_999);
  await write(99_999, "commit");
  await waits.settled();
  expect(statSync(file).size).toBeGreaterThan(3 * 99_999);
});
