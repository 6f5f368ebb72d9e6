import { expect, it } from "vitest";
import { startPeer } from "../service/peer.ts";
import { watchWorld } from "../support/watched-world.ts";
import type { WatchedWorld } from "../support/watched-world.ts";

/** A daemon that polls a service whose answer to every request is the text that the test sets. */
async function watchText(first: string) {
  const answer = { body: first };
  const { baseUrl } = await startPeer((_request, response) => {
    response.writeHead(200, { "content-type": "application/json" }).end(answer.body);
  });
  const world = await watchWorld({ baseUrl });
  return { world, answer };
}

const sandbox = (id: string, serverStatus: string): string =>
  `{"local_sandbox_id":"${id}","created_at":"2026-02-16T12:45:25Z","servers":[${server(id, serverStatus)}]}`;
const server = (sandboxId: string, status: string): string =>
  `{"id":"${sandboxId}-1","server_name":"git","status":"${status}"}`;
const sandboxes = (...items: readonly string[]): string => `"local_sandboxes":[${items.join()}]`;
const healthy = `{${sandboxes(sandbox("a", "idle"), sandbox("b", "idle"))},"total_count":2}`;

const changes = ({ log }: WatchedWorld): readonly unknown[] =>
  log
    .filter(({ event }) => event === "server.changed")
    .map(({ server_id: id, from, to }) => `${String(id)}: ${String(from)} -> ${String(to)}`);
const errorAlerts = ({ alerts }: WatchedWorld): readonly unknown[] =>
  alerts
    .filter(({ data }) => data.rule === "server-error")
    .flatMap(({ data }) => data.incidents)
    .map(({ server_id: id, state }) => [id, state]);

const erring = sandboxes(sandbox("a", "error"));
it.for([
  ["null", `{${erring},"total_count":null}`],
  ["a text", `{${erring},"total_count":"1"}`],
  ["a fraction", `{${erring},"total_count":1.5}`],
  ["too large for a number", `{${erring},"total_count":1e400}`],
  ["negative", `{${erring},"total_count":-1}`],
  ["another number", `{${erring},"total_count":2}`],
  ["absent", `{${erring}}`],
  ["an object", `{${erring},"total_count":{"value":1}}`],
  ["null and comes first", `{"total_count":null,${erring}}`],
  ["repeated, the last time as null", `{"total_count":1,${erring},"total_count":null}`],
] as const)(
  "a listing whose total_count is %s is used but proves nothing about what it lacks",
  async ([, body]) => {
    const { world, answer } = await watchText(healthy);
    await world.poll();
    answer.body = body;
    await world.poll(4);
    expect(errorAlerts(world)).toEqual([["a-1", "firing"]]);
    expect(changes(world)).toEqual(["a-1: idle -> error"]);
    const metrics = await world.metrics();
    expect(metrics).toContain('sandwatch_target_up{region="us",key="research"} 1\n');
    expect(metrics).toContain(
      'sandwatch_schema_deviations_total{region="us",operation="list_sandboxes",field="total_count"} 4\n',
    );
    expect(metrics).toMatch(/sandwatch_poll_failures_total\{.*reason="invalid_body"\} 0\n/);
  },
);

it.for([
  ["comes first", `{"total_count":1,${erring}}`],
  ["is repeated, the last time right", `{"total_count":null,${erring},"total_count":1}`],
  ["is written as 1.0", `{${erring},"total_count":1.0}`],
] as const)("a listing whose total_count %s is complete", async ([, body]) => {
  const { world, answer } = await watchText(healthy);
  await world.poll();
  answer.body = body;
  await world.poll(2);
  expect(errorAlerts(world)).toEqual([["a-1", "firing"]]);
  expect(changes(world)).toContain("b-1: idle -> absent");
});

const logged = ({ log }: WatchedWorld, event: string) =>
  log
    .filter((line) => line.event === event)
    .map(({ place, problem, found }) => [place, problem, found]);
const count = ({ log }: WatchedWorld, event: string): number =>
  log.filter((line) => line.event === event).length;
const withId = (id: unknown): string =>
  JSON.stringify({ local_sandbox_id: id, created_at: "then", servers: [] });
const withServer = (odd: object): string => {
  const servers = [{ id: "c-1", status: "error" }, odd, { id: "c-3", status: "error" }];
  return JSON.stringify({ local_sandbox_id: "c", created_at: "then", servers });
};

const unkept = [
  [withId("i".repeat(2_000)), ".local_sandbox_id", "too_long", "text of 2000 characters"],
  [withId("x\0"), ".local_sandbox_id", "invalid_character", "text of 2 characters"],
  [withId("\ud800"), ".local_sandbox_id", "invalid_character", "text of 1 character"],
  [withId(""), ".local_sandbox_id", "empty", "text of 0 characters"],
  [withId(7), ".local_sandbox_id", "wrong_type", "whole number"],
  [withId(undefined), ".local_sandbox_id", "missing", null],
  ['{"local_sandbox_id":"c","created_at":"then"}', ".servers", "missing", null],
  ["[1]", "", "wrong_type", "list of 1 item"],
  ["null", "", "null", null],
  [withServer({ id: "v".repeat(513) }), ".servers[1].id", "too_long", "text of 513 characters"],
  [withServer({ id: "x\0" }), ".servers[1].id", "invalid_character", "text of 2 characters"],
  [withServer({ id: null }), ".servers[1].id", "null", null],
  [withServer({}), ".servers[1].id", "missing", null],
] as const;
for (const [at, [item, part, problem, found]] of unkept.entries()) {
  it(`an item that cannot be kept is logged once with its place, and the others are watched (${at}: ${part} ${problem})`, async () => {
    const { world, answer } = await watchText(healthy);
    await world.poll();
    const [a, b] = [sandbox("a", "error"), sandbox("b", "error")];
    answer.body = `{${sandboxes(a, item, b)},"total_count":3}`;
    await world.poll(3);
    const watched = part.startsWith(".servers[") ? ["a-1", "b-1", "c-1", "c-3"] : ["a-1", "b-1"];
    const firing = new Set(watched.map((id) => [id, "firing"]));
    expect(new Set(errorAlerts(world))).toEqual(firing);
    expect(logged(world, "listing.item_not_kept")).toEqual([
      [`local_sandboxes[1]${part}`, problem, found],
    ]);
    expect(count(world, "listing.partial")).toBe(1);
    expect(await world.metrics()).toMatch(
      /sandwatch_schema_deviations_total\{.*operation="list_sandboxes".*\} 3\n/,
    );

    answer.body = `{${sandboxes(a)},"total_count":1}`;
    await world.poll(2);
    expect(count(world, "listing.complete")).toBe(1);
    expect(changes(world)).toContain("b-1: error -> absent");
  });
}

it.for([
  [{ server_name: "n".repeat(257) }, ".server_name", "too_long"],
  [{ server_name: "a\0b" }, ".server_name", "invalid_character"],
  [{ benchmark: "\0" }, ".benchmark", "invalid_character"],
  [{ tags: ["fine", "t".repeat(300)] }, ".tags[1]", "too_long"],
  [{ tags: Array.from({ length: 70 }, (_, at) => `t${at}`) }, ".tags", "too_many"],
] as const)(
  "a server with %j is watched without that text, which is logged once, and the listing is partial",
  async ([odd, part, problem]) => {
    const { world, answer } = await watchText(
      `{${sandboxes(withServer({ id: "c-2", status: "error", ...odd }))},"total_count":1}`,
    );
    await world.poll(3);
    expect(errorAlerts(world)).toContainEqual(["c-2", "firing"]);
    expect(world.log.filter(({ event }) => event === "listing.item_not_kept")).toMatchObject([
      { place: `local_sandboxes[0].servers[1]${part}`, problem, sandbox_id: "c", server_id: "c-2" },
    ]);
    expect(count(world, "listing.partial")).toBe(1);
    answer.body = healthy;
    await world.poll();
    expect(count(world, "listing.complete")).toBe(1);
  },
);

it("what cannot be kept is logged again only once it is another one, wherever it stands", async () => {
  const item = withId("x\0");
  const [a, b] = [sandbox("a", "idle"), sandbox("b", "idle")];
  const { world, answer } = await watchText(`{${sandboxes(a, item, b)},"total_count":3}`);
  await world.poll(2);
  answer.body = `{${sandboxes(item, b, a)},"total_count":3}`;
  await world.poll(2);
  answer.body = `{${sandboxes(item, b, item)},"total_count":3}`;
  await world.poll(2);
  answer.body = healthy;
  await world.poll();
  answer.body = `{${sandboxes(a, item, b)},"total_count":3}`;
  await world.poll(2);
  expect(logged(world, "listing.item_not_kept").map(([place]) => place)).toEqual([
    "local_sandboxes[1].local_sandbox_id",
    "local_sandboxes[2].local_sandbox_id",
    "local_sandboxes[1].local_sandbox_id",
  ]);
  expect([count(world, "listing.partial"), count(world, "listing.complete")]).toEqual([2, 1]);
});

it("of very many items that cannot be kept the first are logged one by one, and all are counted", async () => {
  const items = Array.from({ length: 100 }, () => withId("\0"));
  const { world } = await watchText(`{${sandboxes(...items)},"total_count":100}`);
  await world.poll(2);
  expect(count(world, "listing.item_not_kept")).toBe(20);
  expect(world.log.filter(({ event }) => event === "listing.partial")).toMatchObject([
    { not_kept: 100 },
  ]);
});

it("the status page and the API say why a listing is partial, and why a poll failed", async () => {
  const { world, answer } = await watchText(`{${erring},"total_count":null}`);
  await world.poll();
  const address = await world.address();
  const read = async (path: string): Promise<string> => (await fetch(address + path)).text();
  expect(await read("/")).toContain("up, partial: total_count is null");
  expect(JSON.parse(await read("/api/v1/targets"))).toMatchObject({
    targets: [{ up: true, partial: "total_count is null", last_failure_detail: null }],
  });
  answer.body = "<html>";
  await world.poll();
  expect(await read("/")).toContain("down: invalid_body, the body is not JSON (at byte 0)");
  expect(JSON.parse(await read("/api/v1/targets"))).toMatchObject({
    targets: [
      { up: false, partial: null, last_failure_detail: "the body is not JSON (at byte 0)" },
    ],
  });
});
