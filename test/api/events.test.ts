import { expect, it } from "vitest";
import { listChanges } from "../../src/api/operations/changes.ts";
import { listIncidents } from "../../src/api/operations/incidents.ts";
import { readEvents } from "../../src/api/operations/events.ts";
import { watchWorld } from "../support/watched-world.ts";
import { erring } from "./support/api-world.ts";

const fromTheFirst = "0_0,0_";

it("gives changes and incidents as the lists have them, after the place where it began", async () => {
  const world = await erring();
  const { api } = world.daemon();
  const feed = (query: object) => readEvents(api, query);
  const begin = await feed({});
  expect(begin).toEqual({ events: [], after: begin.after, hasMore: false });
  world.show(1, "error");
  await world.poll();
  const { changes } = await api(listChanges, { limit: 1 });
  const { incidents } = await api(listIncidents, { limit: 1 });
  const news = await feed({ after: begin.after });
  expect(news).toMatchObject({
    events: [
      { kind: "change", view: changes[0] },
      { kind: "incident", view: incidents[0] },
    ],
    hasMore: false,
  });
  expect(await feed({ after: news.after })).toEqual({ ...begin, after: news.after });
});

it("gives only what is asked for, and counts the rest as heard", async () => {
  const world = await erring();
  const feed = (query: object) => readEvents(world.daemon().api, query);
  const { after } = await feed({});
  world.show(1, "error");
  world.show(2, "occupied");
  await world.poll();
  const kinds = async (query: object) =>
    (await feed({ ...query, after })).events.map(({ kind }) => kind);
  expect(await kinds({ kind: "incident" })).toEqual(["incident"]);
  expect(await kinds({ kind: "change,incident" })).toEqual(["change", "change", "incident"]);
  expect(await kinds({ server: world.serverIds[2] })).toEqual(["change"]);
  expect(await kinds({ region: "eu" })).toEqual([]);
  const other = await feed({ after, region: "eu" });
  expect(await feed({ after: other.after })).toMatchObject({ events: [] });
});

it("gives so many at a time, until there are no more", async () => {
  const world = await watchWorld({ servers: 600 });
  await world.poll();
  const feed = (query: object) => readEvents(world.daemon().api, query);
  const first = await feed({ after: fromTheFirst });
  expect([first.events.length, first.hasMore]).toEqual([500, true]);
  const rest = await feed({ after: first.after });
  expect([rest.events.length, rest.hasMore]).toEqual([100, false]);
});

it("is served by the daemon", async () => {
  const world = await erring();
  const { changes } = await world.daemon().api(listChanges, {});
  const path = `/api/v1/events?kind=change&after=${fromTheFirst}`;
  const response = await fetch(`${await world.address()}${path}`);
  let text = "";
  for await (const chunk of response.body?.pipeThrough(new TextDecoderStream()) ?? []) {
    text += chunk;
    if (/\nid: /.test(text)) break;
  }
  const told = Array.from(text.matchAll(/^data: (.*)$/gm), ([, data = ""]) => JSON.parse(data));
  expect(told).toEqual(changes.toReversed());
});

it.each([
  ["no place", { after: "1_2" }, "after: the id of an event"],
  ["a third place", { after: "0_0,0_,0_" }, "after: the id of an event"],
  ["a kind that there is not", { kind: "silence" }, "change, incident"],
  ["a field that there is not", { from: "1h" }, "from: "],
])("refuses %s", async (_, query, allowed) => {
  const world = await erring();
  await expect(readEvents(world.daemon().api, query)).rejects.toThrow(allowed);
});
