import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { expect, it, onTestFinished } from "vitest";
import { openWriteAheadLog } from "../../src/store/write-ahead-log.ts";
import { tempFolder } from "../support/temp-folder.ts";

const pageBytes = 4_096;

/** A log of some pages, with older ones behind them: it began anew. */
function openLog() {
  const file = join(tempFolder(), "store.db");
  const database = new DatabaseSync(file);
  database.exec(`pragma page_size = ${pageBytes}; pragma journal_mode = wal; create table t (a)`);
  const insert = (bytes: number): unknown =>
    database.prepare("insert into t values (randomblob(?))").run(bytes);
  insert(50 * pageBytes);
  database.exec("pragma wal_checkpoint(passive)");
  insert(35 * pageBytes);
  const log = openWriteAheadLog(file, pageBytes);
  onTestFinished(() => {
    database.close();
    log.close();
  });
  return { database, path: `${file}-wal`, log, insert };
}

it("each transaction that writes makes another change and more frames, and no other does", () => {
  const { database, log, insert } = openLog();
  const first = log.look();
  expect(first.frames).toBeGreaterThan(35);
  expect(first.frames).toBeLessThan(50);
  database.exec("select * from t; begin; insert into t values (1); rollback");
  expect(log.look()).toEqual(first);
  insert(1);
  const second = log.look();
  expect(second.change).not.toBe(first.change);
  expect(second.frames).toBeGreaterThan(first.frames);
  database.exec("create table u (a)");
  expect(log.look().change).not.toBe(second.change);
});

it("a log is written again as it was", async () => {
  const { path, log } = openLog();
  const before = readFileSync(path);
  await log.rewrite();
  expect(readFileSync(path).equals(before)).toBe(true);
});

it.each([
  ["its header", 20],
  ["the number of a page", 32 + 3],
  ["a page", 32 + 24 + 5],
  ["a later page", 32 + 20 * (24 + pageBytes) + 1_000],
  ["the last frame's checksum", -1],
])("a log that lost %s is not written again", async (_, place) => {
  const { path, log } = openLog();
  const bytes = readFileSync(path);
  const end = 32 + log.look().frames * (24 + pageBytes);
  const at = place < 0 ? end - pageBytes - 1 : place;
  bytes.writeUInt8(bytes.readUInt8(at) ^ 1, at);
  writeFileSync(path, bytes);
  await expect(log.rewrite()).rejects.toThrow("not what was written");
});

it("what is behind the committed frames does not matter", async () => {
  const { path, log } = openLog();
  const bytes = readFileSync(path);
  bytes.fill(0, 32 + log.look().frames * (24 + pageBytes));
  writeFileSync(path, bytes);
  await expect(log.rewrite()).resolves.toBeUndefined();
});

it("a log that is shorter than what was committed is not written again", async () => {
  const { path, log } = openLog();
  const bytes = readFileSync(path);
  writeFileSync(path, bytes.subarray(0, 32 + 10 * (24 + pageBytes)));
  await expect(log.rewrite()).rejects.toThrow("not what was written");
});
