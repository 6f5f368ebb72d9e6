import type { DatabaseSync } from "node:sqlite";
import { DatabaseSync as Database } from "node:sqlite";
import { Kysely } from "kysely";
import { describe, expect, it, onTestFinished } from "vitest";
import { allTime } from "../../src/reports/time-range.ts";
import { createChangeHistory } from "../../src/store/changes.ts";
import { sqliteDialect } from "../../src/store/sqlite/dialect.ts";
import { lookedAtOnce } from "../../src/store/sql-helpers.ts";
import { openStoreReadOnly } from "../../src/store/store.ts";
import type { Tables } from "../../src/store/tables.ts";
import { collect } from "../support/collect.ts";
import { freshStoreFile } from "../support/fresh-store.ts";

const windows = 4;
const rows = windows * lookedAtOnce + 7;
/** At the ends of what one statement looks at, and within. */
const rare = [1, lookedAtOnce, lookedAtOnce + 1, 2 * lookedAtOnce + 17, rows];
const isRare = `i in (${rare.join()})`;

/** Inserts a row for each number, with the columns that are given and otherwise as little as the schema allows. */
function fill(database: DatabaseSync, table: string, count: number, given: Record<string, string>) {
  const columns = database.prepare(`select * from pragma_table_info('${table}')`).all();
  const values = columns.map(({ name, type, notnull, pk }) => {
    const least = String(type) === "text" ? "'x'" : "0";
    return given[String(name)] ?? (Number(notnull) + Number(pk) > 0 ? least : "null");
  });
  database.exec(`insert into ${table}
    with recursive n(i) as (select 1 union all select i + 1 from n where i < ${count})
    select ${values.join()} from n`);
}

function openFilled() {
  const store = openStoreReadOnly(filledFile());
  onTestFinished(() => store.close());
  return store;
}

function filledFile(): string {
  const path = freshStoreFile();
  {
    using database = new Database(path);
    database.exec("pragma foreign_keys = off");
    const region = "case i when 1 then 'us' else 'ap' end";
    fill(database, "targets", 2, { id: "i", region, key: "'a'" });
    const name = "case i when 1 then 'github' else 'rare' end";
    const server = { id: "i", target_id: "i", server_id: "'s' || i", server_name: name };
    fill(database, "servers", 2, server);
    const [from_status, to_status] = ["'idle'", "'error'"];
    const which = `iif(${isRare}, 2, 1)`;
    const change = { seq: "i", at_ms: "i", server: which, from_status, to_status };
    fill(database, "changes", rows, change);
    fill(database, "incidents", rows, {
      id: "printf('i%06d', i)",
      target_id: which,
      sandbox_id: "'x'",
      server_id: `iif(${isRare}, 's2', 's1')`,
      server_name: `iif(${isRare}, 'rare', 'github')`,
      severity: "'warning'",
      subject: "'server'",
      status: "'error'",
      phase: "'firing'",
      fired_at_ms: "i",
      started_at_ms: "i",
    });
    database.exec(`update commit_sequence set value = ${rows}`);
  }
  return path;
}

/** Also how often something else could be done meanwhile. */
async function withTurns<Value>(work: Promise<Value>): Promise<readonly [Value, number]> {
  let turns = 0;
  let isOver = false;
  const turn = (): void => {
    turns += 1;
    if (!isOver) setImmediate(turn);
  };
  setImmediate(turn);
  const value = await work;
  isOver = true;
  return [value, turns];
}

const ofServers = { subject: ["server"] } as const;

describe("a rare selection of very many rows is looked for in slices", () => {
  it.each(["asc", "desc"] as const)("of changes, %s", async (direction) => {
    const store = openFilled();
    const query = { ...allTime, direction, region: ["ap"], ...ofServers };
    const [found, turns] = await withTurns(collect(store.changes.ofSubjects(query)));
    const expected = direction === "asc" ? rare : rare.toReversed();
    expect(found.map(({ atMs }) => atMs)).toEqual(expected);
    expect(turns).toBeGreaterThanOrEqual(windows);
  });

  // SQLite would seek by the end of the whole range, and read again what was looked at before.
  it.each(["asc", "desc"] as const)(
    "each of which begins where the last one ended, %s",
    async (direction) => {
      using database = new Database(filledFile());
      const bounds: (readonly unknown[])[] = [];
      const kysely = new Kysely<Tables>({
        dialect: sqliteDialect(database),
        log: ({ query }) => void bounds.push(query.parameters),
      });
      const range = { fromMs: -5, toMs: rows + 5 };
      const query = { ...range, direction, region: ["ap"], ...ofServers };
      await collect(createChangeHistory(kysely).ofSubjects(query));
      const whole = direction === "asc" ? range.fromMs : range.toMs;
      expect(bounds.length).toBeGreaterThan(2 * windows);
      expect(bounds.filter((parameters) => parameters.includes(whole))).toHaveLength(2);
    },
  );

  it.each([{ server: "rare" }, { server: "s2" }, { region: ["ap"] }, { name: ["rare"] }])(
    "of incidents: %j",
    async (selection) => {
      const store = openFilled();
      const page = (limit: number, before: { atMs: number; id: string } | null = null) =>
        store.incidents.page({ ...selection, limit, before });
      const [found, turns] = await withTurns(page(10));
      expect(found.map(({ incident }) => incident.startedAtMs)).toEqual(rare.toReversed());
      expect(turns).toBeGreaterThanOrEqual(windows);
      const first = await page(2);
      const last = first.at(-1)?.incident;
      if (!last) throw new Error("no incident");
      const rest = await page(10, { atMs: last.startedAtMs, id: last.id });
      expect([...first, ...rest].map(({ incident }) => incident.id)).toEqual(
        found.map(({ incident }) => incident.id),
      );
    },
  );
});
