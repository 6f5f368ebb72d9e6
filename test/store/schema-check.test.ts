import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { expect, it } from "vitest";
import { StoreError } from "../../src/store/database.ts";
import { openStore, openStoreReadOnly } from "../../src/store/store.ts";
import { freshStoreFile } from "../support/fresh-store.ts";
import { storeBytes } from "../support/store-dump.ts";
import { tempFolder } from "../support/temp-folder.ts";

const restore = /undo that change, put back a copy/i;

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
  ["a view is missing", "drop view open_buckets", /the view open_buckets is missing/],
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

it("a store of an earlier version that lacks what its version says is refused in words", () => {
  const path = spoil("drop table targets; pragma user_version = 1");
  expect(() => openStore(path)).toThrow(/does not have the schema that its version says/);
});

it.each([
  ["of a newer sandwatch", "pragma user_version = 1000", /written by a newer sandwatch/],
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
  for (const error of refusals(path)) expect(String(error)).toMatch(/no SQLite database/);
  writeFileSync(path, "");
  expect(() => openStoreReadOnly(path)).toThrow(/is empty: no sandwatch has run on it yet/);
});

it("layout, and what SQLite itself keeps, make no difference", async () => {
  const path = spoil("analyze");
  await expect(openStoreReadOnly(path).close()).resolves.toBeUndefined();
  await expect(openStore(path).close()).resolves.toBeUndefined();
});
