import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { expect, it } from "vitest";
import { StoreError } from "../../src/store/store-error.ts";
import { openStore, openStoreReadOnly } from "../../src/store/store.ts";
import { freshStoreFile } from "../support/fresh-store.ts";
import { storeBytes } from "../support/store-dump.ts";
import { tempFolder } from "../support/temp-folder.ts";

const restore = /undo that change, restore a copy/i;

/** How a store is spoilt, and what is said of it beside its path. */
const spoilt: readonly (readonly [string, string, RegExp])[] = [
  ["a table is missing", "drop table silences", /the table silences is missing/],
  ["a table too many", "create table notes (text)", /the table notes does not belong there/],
  [
    "a column is missing",
    "alter table silences drop column reason",
    /the table silences is not defined as it should be/,
  ],
  [
    "a column too many",
    "alter table incidents add column team text",
    /the table incidents is not defined as it should be/,
  ],
  ["an index is missing", "drop index incidents_open", /the index incidents_open is missing/],
  [
    "an index is another",
    "drop index incidents_open; create index incidents_open on incidents (rule)",
    /the index incidents_open is not defined as it should be/,
  ],
  [
    "an index too many",
    "create index mine on incidents (rule)",
    /the index mine does not belong there/,
  ],
  [
    "the sequence of commits is missing",
    "delete from commit_sequence",
    /commit_sequence must have one row/,
  ],
  [
    "the sequence of commits is there twice",
    "insert into commit_sequence (value) values (7)",
    /commit_sequence must have one row/,
  ],
  [
    "the sequence of commits is behind what took its numbers",
    `insert into incidents (
      id, revision, rule, rule_fingerprint, severity, receivers, subject, phase, held_since_ms, held_since_polls,
      flapping, started_at_ms
    ) values ('i', 1, 'r', 'f', 'critical', '[]', 'server', 'firing', 0, 0, 0, 0)`,
    /commit_sequence is behind/,
  ],
  ["a view too many", "create view now as select 1", /the view now does not belong there/],
];

function spoil(statements: string): string {
  const path = freshStoreFile();
  using database = new DatabaseSync(path);
  database.exec(`pragma journal_mode = delete; ${statements}`);
  return path;
}

function refusals(path: string): readonly unknown[] {
  return [openStore, openStoreReadOnly].map((open) => {
    try {
      void open(path).close();
      return null;
    } catch (error) {
      return error;
    }
  });
}

it.each(spoilt)("a store in which %s is refused when it is opened", (_, statements, says) => {
  const path = spoil(statements);
  for (const error of refusals(path)) {
    expect(error).toBeInstanceOf(StoreError);
    expect(String(error)).toContain(path);
    expect(String(error)).toMatch(says);
    expect(String(error)).toMatch(restore);
  }
});

it("a store that lacks what its version says is refused in words", () => {
  const path = spoil("drop table targets; pragma user_version = 1");
  expect(() => openStore(path)).toThrow(/does not have the schema that its version says/);
});

it("a store from before version 1 is refused and left as it is", () => {
  const path = spoil("drop table commit_sequence; pragma user_version = 21");
  const before = storeBytes(path);
  for (const error of refusals(path)) {
    expect(String(error)).toMatch(/was written by a version of sandwatch before 1/);
    expect(String(error)).toMatch(/Move it away to start with an empty one/);
  }
  expect(storeBytes(path)).toEqual(before);
});

it.each([
  ["of a newer sandwatch", "pragma user_version = 1000", /written by a newer version of sandwatch/],
  ["of another program", "pragma application_id = 7", /a database of another program/],
])("a database %s is refused and left as it is", (_, statements, says) => {
  const path = spoil(statements);
  const before = storeBytes(path);
  for (const error of refusals(path)) expect(String(error)).toMatch(says);
  expect(storeBytes(path)).toEqual(before);
});

it("what is no database, or an empty file, is refused in words by who only reads", () => {
  const path = join(tempFolder(), "store.db");
  writeFileSync(path, "something dear to somebody, which is long enough to be a header".repeat(20));
  for (const error of refusals(path)) expect(String(error)).toMatch(/not an SQLite database/);
  writeFileSync(path, "");
  expect(() => openStoreReadOnly(path)).toThrow(/is empty: the daemon has not run on it yet/);
});

it("layout, and what SQLite itself keeps, make no difference", async () => {
  const path = spoil("analyze");
  await expect(openStoreReadOnly(path).close()).resolves.toBeUndefined();
  await expect(openStore(path).close()).resolves.toBeUndefined();
});
