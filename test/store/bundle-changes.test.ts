import { sql } from "kysely";
import type { Kysely } from "kysely";
import { expect, it, onTestFinished } from "vitest";
import { firstOf } from "../../src/platform/first-of.ts";
import { createChangeBundling } from "../../src/store/bundle-changes.ts";
import { inMemory, openDatabase } from "../../src/store/database.ts";
import { createStore } from "../../src/store/store.ts";
import type { Store } from "../../src/store/store.ts";
import type { Tables } from "../../src/store/tables.ts";
import { research } from "../support/fleet.ts";
import { addTarget } from "../support/add-target.ts";

interface World {
  readonly kysely: Kysely<Tables>;
  readonly store: Store;
  readonly add: (rows: number) => Promise<void>;
}

/** Rows of so many changes, of bytes that cannot be compressed. */
async function openWorld(rows: number, changes: number): Promise<World> {
  const { kysely, close } = openDatabase(inMemory);
  onTestFinished(close);
  const store = createStore(kysely, close);
  const { id } = await addTarget(store, research);
  const add = async (more: number): Promise<void> => {
    await sql`
      with recursive numbers as (select 1 as n union all select n + 1 from numbers where n < ${more})
      insert into changes (target_id, at_ms, change_count, lapse_count, texts, words)
      select ${id}, n * 1000, ${changes}, 0, '[]', randomblob(44 * ${changes}) from numbers
    `.execute(kysely);
  };
  await add(rows);
  return { kysely, store, add };
}

async function countBundles(kysely: Kysely<Tables>): Promise<number> {
  return (await kysely.selectFrom("change_bundles").select("last_row").execute()).length;
}

it("large rows are not all read to bundle the first of them", async () => {
  const { kysely } = await openWorld(400, 2_048);
  const bytes: number[] = [];
  const measured = kysely.withPlugin({
    transformQuery: ({ node }) => node,
    async transformResult({ result }) {
      const words = result.rows.flatMap(({ words: each }) =>
        each instanceof Uint8Array ? [each.length] : [],
      );
      bytes.push(words.reduce((sum, length) => sum + length, 0));
      return result;
    },
  });
  const step = createChangeBundling(measured, { bundled: 40_000, loose: 0 });
  expect(await step()).toBe(true);
  expect(await countBundles(kysely)).toBe(1);
  expect(Math.max(...bytes)).toBeGreaterThan(0);
  expect(Math.max(...bytes)).toBeLessThan(4_000_000);
});

it("changes that a full disk kept out of a bundle come into one once there is room", async () => {
  const { kysely } = await openWorld(40, 100);
  const step = createChangeBundling(kysely, { bundled: 2_000, loose: 1_000 });
  const { rows } = await sql<{ page_count: number }>`pragma page_count`.execute(kysely);
  await sql`pragma max_page_count = ${sql.lit(rows[0]?.page_count)}`.execute(kysely);
  for (let turn = 0; turn < 3; turn += 1) await expect(step()).rejects.toThrow("full");
  await sql`pragma max_page_count = 100000`.execute(kysely);
  await step();
  expect(await countBundles(kysely)).toBe(1);
});

it("changes that are kept no longer do not count among the latest, which stay as they were written", async () => {
  const { kysely, add } = await openWorld(40, 100);
  const step = createChangeBundling(kysely, { bundled: 2_000, loose: 3_000 });
  expect(await step()).toBe(false);
  await kysely.deleteFrom("changes").where("id", "<=", 35).execute();
  await add(14);
  for (let turn = 0; turn < 3; turn += 1) expect(await step()).toBe(false);
  expect(await countBundles(kysely)).toBe(0);
  await add(40);
  while (await step());
  expect(await countBundles(kysely)).toBe(1);
});

it("a bundle of which a bit flipped is not told as other changes, and those around it are", async () => {
  const { kysely, store } = await openWorld(40, 1);
  const step = createChangeBundling(kysely, { bundled: 10, loose: 0 });
  while (await step());
  const { body } = await kysely
    .selectFrom("change_bundles")
    .select("body")
    .where("first_row", "=", 11)
    .executeTakeFirstOrThrow();
  const read = async (fromMs: number, toMs: number): Promise<number> => {
    const changes = store.changes.between({ fromMs, toMs, direction: "asc", lapses: true });
    return (await firstOf(changes, 1_000)).length;
  };
  for (let at = 8; at < body.length; at += 7) {
    const damaged = Uint8Array.from(body, (byte, index) => (index === at ? byte ^ 4 : byte));
    await kysely
      .updateTable("change_bundles")
      .set({ body: damaged })
      .where("first_row", "=", 11)
      .execute();
    expect(await read(0, 100_000)).toBe(30);
  }
  expect([...(store.unreadable.get("change_bundles") ?? [])]).toEqual([
    "20 from 1970-01-01T00:00:11.000Z to 1970-01-01T00:00:20.000Z",
  ]);
  expect([await read(0, 10_500), await read(21_000, 100_000)]).toEqual([10, 20]);
});
