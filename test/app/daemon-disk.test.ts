import { copyFileSync, renameSync, rmSync } from "node:fs";
import { sql } from "kysely";
import { expect, it } from "vitest";
import { openDatabase } from "../../src/store/sqlite/database.ts";
import type { OpenDatabase } from "../../src/store/sqlite/database.ts";
import { createStore, openStore } from "../../src/store/store.ts";
import { sumOf, notifications } from "../support/heard.ts";
import { watchWorld } from "../support/watched-world.ts";
import type { WatchedWorld } from "../support/watched-world.ts";

async function readiness(world: WatchedWorld): Promise<readonly [number, string]> {
  const ready = await fetch(`${await world.address()}/-/ready`);
  return [ready.status, await ready.text()];
}

it("a disk that is full is reported, what is due is notified, and with space all goes on", async () => {
  const servers = 300;
  let database: OpenDatabase | undefined;
  const world = await watchWorld({
    servers,
    receiver: { max_incidents: 1_000, give_up_after: "1h" },
    openStore(path) {
      database = openDatabase(path);
      const { kysely, close, ...readers } = database;
      return createStore(kysely, close, readers);
    },
  });
  const pragma = async (text: string): Promise<unknown> => {
    if (!database) throw new Error("the store is not open");
    const { rows } = await sql<object>`${sql.raw(`pragma ${text}`)}`.execute(database.kysely);
    return Object.values(rows[0] ?? {})[0];
  };
  await world.poll();
  world.peer.answer(503);
  world.show(0, "error");
  await world.poll();

  await pragma(`max_page_count = ${String(await pragma("page_count"))}`);
  world.peer.answer(204);
  for (let server = 0; server < servers; server += 1) world.show(server, "error");
  world.clock.advance(60_000);
  await world.daemon().runOnce();
  expect(notifications(world)).toEqual(["server-error firing"]);
  await world.poll(2);
  const full = await world.metrics();
  expect(full).toContain("sandwatch_store_commit_failures_total 3");
  expect(sumOf(full, "sandwatch_target_up")).toBe(0);
  expect(sumOf(full, "sandbox_servers", 'status="error"')).toBeLessThanOrEqual(1);
  const reported = world.log.filter(({ event }) => event === "poll.failed");
  expect(reported).toHaveLength(1);
  expect(JSON.stringify(reported)).toContain("database or disk is full");
  const why = /the store did not accept the last poll.*its disk is full/;
  expect(await readiness(world)).toEqual([503, expect.stringMatching(why)]);
  const ends_at = new Date(world.clock.now().utcMs + 3_600_000);
  const silence = {
    force: true,
    ends_at,
    author: "ann",
    reason: "a".repeat(400),
  };
  const address = await world.address();
  // A second equal silence would prolong the first, and need no space.
  const add = (region: number): Promise<Response> =>
    fetch(`${address}/api/v1/silences`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ ...silence, match: { region: `elsewhere-${region}` } }),
    });
  let refused = await add(0);
  // The last page may have space for some.
  for (let tries = 1; refused.status === 201 && tries < 20; tries += 1) refused = await add(tries);
  expect([refused.status, await refused.json()]).toEqual([
    503,
    expect.objectContaining({ detail: expect.stringMatching(/its disk is full.*Free space/) }),
  ]);
  expect(await pragma("integrity_check")).toBe("ok");

  await pragma("max_page_count = 1000000");
  await world.poll();
  const again = await world.metrics();
  expect(sumOf(again, "sandwatch_target_up")).toBe(1);
  expect(sumOf(again, "sandbox_servers", 'status="error"')).toBe(servers);
  const incidents = world.alerts.flatMap(({ data }) => data.incidents.map(({ id }) => id));
  expect([incidents.length, new Set(incidents).size]).toEqual([servers, servers]);
  expect(await pragma("integrity_check")).toBe("ok");
});

it.each<readonly [string, (store: string) => void]>([
  ["deleted", (store) => rmSync(store)],
  [
    "replaced",
    (store) => {
      copyFileSync(store, `${store}.copy`);
      renameSync(`${store}.copy`, store);
    },
  ],
  ["without its log", (store) => rmSync(`${store}-wal`)],
  ["without its log's index", (store) => rmSync(`${store}-shm`)],
])(
  "a store whose file is %s is noticed at the next commit, and nothing is claimed from then on",
  async (_, lose) => {
    const world = await watchWorld({
      openStore: (path, observers) => openStore(path, undefined, observers),
    });
    await world.poll();
    lose(world.config.store.path);
    world.show(0, "error");
    world.clock.advance(5_000);
    await world.daemon().pollOnce();
    const text = await world.metrics();
    expect(sumOf(text, "sandwatch_target_up")).toBe(0);
    expect(text).toContain("sandwatch_store_commit_failures_total 1");
    expect(sumOf(text, "sandbox_servers", 'status="error"')).toBe(0);
    const why = /was deleted or replaced while sandwatch runs.*start sandwatch again/;
    expect(await readiness(world)).toEqual([503, expect.stringMatching(why)]);
    world.clock.advance(60_000);
    await world.daemon().pollOnce();
    await expect(world.daemon().runOnce()).rejects.toThrow("deleted or replaced");
    expect(notifications(world)).toEqual([]);
    expect(world.log.filter(({ event }) => event === "store.replaced")).toHaveLength(1);
    await expect(world.daemon().checkStore()).rejects.toThrow("deleted or replaced");

    await world.restart();
    await world.poll(2);
    expect(notifications(world)).toEqual(["server-error firing"]);
    expect((await readiness(world))[0]).toBe(200);
  },
);
