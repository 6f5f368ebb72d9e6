import { DatabaseSync } from "node:sqlite";
import * as fc from "fast-check";
import { expect, it } from "vitest";
import { judgePoll } from "../../src/core/judge.ts";
import { statuses } from "../../src/core/model.ts";
import type { ServerRow } from "../../src/core/snapshot/snapshot.ts";
import { watchTarget } from "../../src/polling/watched-target.ts";
import { openDatabase } from "../../src/store/database.ts";
import { migrations } from "../../src/store/migrations.ts";
import { narrowPages } from "../../src/store/migrations/narrow-pages.ts";
import { widePage, wideSandbox, wideServer } from "../../src/store/migrations/wide-pages.ts";
import type { WideRows } from "../../src/store/migrations/wide-pages.ts";
import { judgeBy, listing, startMs } from "../support/fleet.ts";
import { intakeOf } from "../support/take-in.ts";
import { makeOldStore, openOld } from "./support/old-store.ts";

const id = fc.oneof(fc.uuid(), fc.string({ unit: "grapheme" }));
const text = fc.option(fc.constantFrom("", "git", "[]", "nul \u0000", "沙箱"), { nil: null });
const held = fc.record<ServerRow>({
  sandboxId: fc.constant(""),
  serverId: id,
  serverName: text,
  benchmark: text,
  tags: fc.array(fc.constantFrom("", "prod", "[", '["prod"]'), { maxLength: 3 }),
  status: fc.constantFrom(...statuses),
  sinceMs: fc.integer({ min: 0, max: 2 ** 44 - 1 }),
  sinceObservedMs: fc.double({ min: 0, max: 2 ** 40 - 1, noNaN: true }),
  sinceWitnessed: fc.boolean(),
  missing: fc.nat(0xffff),
});
const sandboxes = fc.uniqueArray(
  fc.record<WideRows>({
    sandboxId: id,
    status: fc.constantFrom(...statuses),
    benchmark: text,
    missing: fc.nat(0xffff),
    servers: fc.uniqueArray(held, { selector: ({ serverId }) => serverId, maxLength: 5 }),
  }),
  { selector: ({ sandboxId }) => sandboxId, maxLength: 20 },
);

function setVersionBefore(database: DatabaseSync): void {
  for (const migration of migrations.slice(1, migrations.indexOf(narrowPages))) migration(database);
  database.exec(`pragma user_version = ${migrations.indexOf(narrowPages)}`);
}

function insertWide(database: DatabaseSync, pageId: number, rows: readonly WideRows[]): void {
  const { sandboxCount, words, texts } = widePage(rows);
  database
    .prepare("insert into pages values (1, ?, 0, ?, ?, ?)")
    .run(pageId, sandboxCount, new Uint8Array(words.buffer), JSON.stringify(texts));
}

it("sandboxes and servers of wide records are what they were, their moments in whole milliseconds", async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(sandboxes, { maxLength: 20 }), async (pages) => {
      const rows = pages.flat();
      const path = makeOldStore((database) => {
        setVersionBefore(database);
        for (const [index, page] of pages.entries()) insertWide(database, index + 1, page);
      });
      const { store } = openOld(path);
      const snapshot = await store.targets.snapshotOf(1);
      expect([...snapshot.sandboxes()]).toEqual(
        rows.map(({ sandboxId, status, benchmark, missing }) => {
          return { sandboxId, status, benchmark, missing };
        }),
      );
      expect([...snapshot.servers()]).toEqual(
        rows.flatMap(({ sandboxId, servers }) =>
          servers.map((server) => ({
            ...server,
            sandboxId,
            sinceObservedMs: Math.floor(server.sinceObservedMs),
          })),
        ),
      );
      await store.close();
    }),
    { numRuns: 6 },
  );
});

const row: Omit<WideRows, "servers"> = {
  sandboxId: "box",
  status: "idle",
  benchmark: null,
  missing: 0,
};
const server: ServerRow = {
  sandboxId: "box",
  serverId: "a",
  serverName: "git",
  benchmark: null,
  tags: [],
  status: "idle",
  sinceMs: 1,
  sinceObservedMs: 2,
  sinceWitnessed: true,
  missing: 0,
};

/** A page with an edit that it holds already, and one that came later: it makes the server err. */
function storeWithEdits(): string {
  return makeOldStore((database) => {
    setVersionBefore(database);
    insertWide(database, 7, [{ ...row, servers: [server] }]);
    database.exec("update pages set last_edit = 4");
    const insert = database.prepare("insert into page_edits values (?, 1, ?)");
    const known = [7, 1, wideSandbox.flags, statuses.indexOf("unknown") | 0b1000];
    const flagsAt = wideSandbox.words + wideServer.flags;
    const later = [7, 1, flagsAt, statuses.indexOf("error") | 0b1100];
    for (const [edit, words] of [[4, known] as const, [5, later] as const]) {
      insert.run(edit, new Uint8Array(Uint32Array.from(words).buffer));
    }
  });
}

it("edits that came after their pages are part of them, and later ones follow", async () => {
  const path = storeWithEdits();
  const first = openOld(path);
  const before = await first.store.targets.snapshotOf(1);
  expect([...before.servers()]).toEqual([{ ...server, status: "error" }]);
  expect(before.sandbox("box")?.status).toBe("idle");
  const edits = await first.kysely.selectFrom("page_edits").select("id").execute();
  expect(edits).toEqual([]);

  const [stored] = await first.store.targets.all();
  if (!stored) throw new Error("the target is not stored");
  const options = { staleAfter: 3, restoredForMs: 90_000, nowUtcMs: startMs };
  const { state } = watchTarget(stored, before, options);
  const intake = intakeOf(before, listing({ a: "occupied" }).sandboxes, 2);
  const at = { utcMs: startMs + 60_000, monotonicMs: 60_000 };
  const verdict = judgePoll(state, { kind: "listed", intake, complete: true }, at, judgeBy([]));
  await first.store.commitPoll(1, verdict);
  await first.store.close();
  const again = await openOld(path).store.targets.snapshotOf(1);
  expect(Array.from(again.servers(), ({ status }) => status)).toEqual(["occupied"]);
  expect([...again.servers()]).toEqual([...verdict.snapshot.servers()]);
});

it("a store whose pages cannot be brought over is left as it was", () => {
  const path = storeWithEdits();
  const contents = (): unknown => {
    using database = new DatabaseSync(path);
    const all = (sql: string): unknown => database.prepare(sql).all();
    return [
      all("pragma user_version"),
      all("select * from pages"),
      all("select * from page_edits"),
    ];
  };
  {
    using database = new DatabaseSync(path);
    // The target's first page is brought over before this one is found not to be whole.
    database.exec("insert into pages values (1, 8, 0, 1, x'00000000', '[\"\"]')");
  }
  const before = contents();
  expect(() => openDatabase(path)).toThrow("not whole");
  expect(contents()).toEqual(before);
});
