import { sql } from "kysely";
import { expect, it } from "vitest";
import { openDatabase } from "../../src/store/sqlite/database.ts";
import type { OpenDatabase } from "../../src/store/sqlite/database.ts";
import { createStore } from "../../src/store/store.ts";
import { events, sumOf, notifications } from "../support/heard.ts";
import { watchWorld } from "../support/watched-world.ts";

const servers = 300;

/** The daemon on a disk that can be filled up, as far as its store is concerned. */
async function watchOnDisk() {
  let database: OpenDatabase | undefined;
  const world = await watchWorld({
    servers,
    receiver: { max_incidents: 1_000, give_up_after: "1h" },
    openStore(path) {
      database = openDatabase(path);
      const { kysely, reader, close } = database;
      return createStore(kysely, close, { reader });
    },
  });
  const pragma = async (text: string): Promise<number> => {
    if (!database) throw new Error("the store is not open");
    const { rows } = await sql<object>`${sql.raw(`pragma ${text}`)}`.execute(database.kysely);
    return Number(Object.values(rows[0] ?? {})[0]);
  };
  return {
    world,
    fill: async () => void (await pragma(`max_page_count = ${await pragma("page_count")}`)),
    makeSpace: async () => void (await pragma("max_page_count = 1000000")),
    isWhole: async () => {
      if (!database) return false;
      const { rows } = await sql<object>`pragma integrity_check`.execute(database.reader);
      return JSON.stringify(rows) === '[{"integrity_check":"ok"}]';
    },
  };
}

it("a disk that is full is reported, what is due is notified, and with space all goes on", async () => {
  const { world, fill, makeSpace, isWhole } = await watchOnDisk();
  await world.poll();
  world.peer.answer(503);
  world.show(0, "error");
  await world.poll();

  await fill();
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
  const ready = await fetch(`${await world.address()}/-/ready`);
  expect([ready.status, await ready.text()]).toEqual([
    503,
    expect.stringContaining("the store did not accept the last poll"),
  ]);
  expect(await isWhole()).toBe(true);

  await makeSpace();
  await world.poll();
  const again = await world.metrics();
  expect(sumOf(again, "sandwatch_target_up")).toBe(1);
  expect(sumOf(again, "sandbox_servers", 'status="error"')).toBe(servers);
  const incidents = world.alerts.flatMap(({ data }) => data.incidents.map(({ id }) => id));
  expect(new Set(incidents).size).toBe(servers);
  expect(incidents).toHaveLength(servers);
  expect(events(world).filter((event) => event === "server.gone")).toEqual([]);
  expect(await isWhole()).toBe(true);
});
