import { DatabaseSync } from "node:sqlite";
import { Kysely } from "kysely";
import type { CompiledQuery } from "kysely";
import { expect, it, onTestFinished } from "vitest";
import { prepareRows } from "../../src/store/prepared.ts";
import { sqliteDialect } from "../../src/store/sqlite/dialect.ts";
import type { Tables } from "../../src/store/tables.ts";

function openClocks() {
  const database = new DatabaseSync(":memory:");
  database.exec("create table pool_clocks (rule text, scope text, ms integer)");
  const queries: CompiledQuery[] = [];
  const kysely = new Kysely<Tables>({
    dialect: sqliteDialect(database),
    log: ({ query }) => void queries.push(query),
  });
  onTestFinished(() => kysely.destroy());
  const stored = () =>
    database.prepare("select * from pool_clocks order by rowid").all().map(Object.values);
  return { kysely, queries, stored };
}

interface ClockRow {
  readonly rule: string;
  readonly scope: string;
  readonly ms: number;
}

const clock = (rule: string): ClockRow => ({ rule, scope: `scope of ${rule}`, ms: rule.length });

function prepareClocks() {
  return prepareRows((db, rows: readonly ClockRow[]) => db.insertInto("pool_clocks").values(rows));
}

it("inserts any number of rows, into whichever database it is given", async () => {
  const insert = prepareClocks();
  const databases = [openClocks(), openClocks()];
  for (const { kysely } of databases) {
    await insert(kysely, [clock("a")]);
    await insert(kysely, [clock("bb"), clock("ccc")]);
    await insert(kysely, [clock("dddd")]);
  }
  const row = (rule: string) => [rule, `scope of ${rule}`, rule.length];
  for (const { stored } of databases) {
    expect(stored()).toEqual(["a", "bb", "ccc", "dddd"].map(row));
  }
});

it("keeps nothing of the rows that a statement was built for", async () => {
  const insert = prepareClocks();
  const { kysely, queries } = openClocks();
  await insert(kysely, [clock("first"), clock("second")]);
  await insert(kysely, [clock("third"), clock("fourth")]);
  expect(JSON.stringify(queries.at(-1))).toContain("third");
  expect(JSON.stringify(queries.at(-1))).not.toContain("first");
});
