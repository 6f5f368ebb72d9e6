import * as fc from "fast-check";
import { expect, test } from "vitest";
import { emptySnapshot } from "../../src/fleet/snapshot.ts";
import { Secret } from "../../src/lib/secret.ts";
import { createServiceClient } from "../../src/service/client.ts";
import type { Lookup } from "../../src/service/operations.ts";
import { createSimulator } from "../../src/simulator/simulator.ts";
import { createFakeClock } from "../support/fake-clock.ts";
import { regionContent } from "../support/random-resources.ts";
import { startSimulator } from "./start-simulator.ts";

test("a key is known, unknown or unreadable", async () => {
  const { get } = await startSimulator();
  for (const [authorization, status] of [
    [undefined, 401],
    ["Basic cmVzZWFyY2g=", 401],
    ["Bearer ", 401],
    ["Bearer research-key more", 401],
    ["Bearer research-key2", 403],
    ["Bearer research-key", 200],
    ["bearer research-key", 200],
  ] as const) {
    const headers = authorization === undefined ? {} : { authorization };
    for (const path of ["/local-sandbox", "/universes", "/user/user-1"]) {
      const answer = await get(path, { init: { headers } });
      expect([authorization, answer.status]).toEqual([authorization, status]);
    }
  }
});

test("other methods and unknown paths are refused", async () => {
  const { get } = await startSimulator();
  const headers = { authorization: "Bearer research-key" };
  for (const method of ["POST", "HEAD"]) {
    const { status, headers: sent } = await get("/local-sandbox", { init: { method, headers } });
    expect([status, sent.get("allow")]).toEqual([405, "GET"]);
  }
  for (const path of ["", "/local-sandboxes", "/local-sandbox/1", "/user/", "/../mars/universes"]) {
    expect((await get(path)).status).toBe(404);
  }
});

test.each([
  ["userId", (id: string) => `/user/${id}`],
  ["universe_id", (id: string) => `/universes/${id}/initial_data`],
  ["client_id", (id: string) => `/white-labeling/get/${id}`],
])("an unknown or invalid %s has the interface's answer", async (name, path) => {
  const { get } = await startSimulator();
  const tooLong = "x".repeat(129);
  expect((await get(path(tooLong.slice(1)))).status).toBe(404);
  for (const [id, input] of [
    [tooLong, tooLong],
    ["%FF", "%FF"],
  ] as const) {
    const response = await get(path(id));
    expect(response.status).toBe(422);
    const entry = { loc: ["path", name], input, msg: expect.any(String), type: expect.any(String) };
    expect(await response.json()).toMatchObject({ detail: [entry] });
  }
});

test("each region has users, universes and white labels of its own", async () => {
  const { simulator, get } = await startSimulator();
  const answer = async (path: string, region = "us"): Promise<unknown> =>
    (await get(path, { region })).json();
  const { userIds, universeIds, clientIds, failingClientId } = simulator.knownIds("us");
  expect([userIds[0], clientIds[0]]).toEqual(["user-1", "client-1"]);
  const users = await Promise.all(userIds.map((id) => answer(`/user/${id}`)));
  expect(users).toMatchObject(userIds.map((userId) => ({ userId })));
  expect(users).toContainEqual(expect.objectContaining({ lastUsedAt: null }));
  expect(users[0]).not.toEqual(await answer("/user/user-1", "eu"));
  const listed = universeIds.map((universe_id) => expect.objectContaining({ universe_id }));
  expect(await answer("/universes")).toEqual({ universes: listed });
  for (const id of universeIds) {
    expect(await answer(`/universes/${id}/initial_data`)).toHaveProperty("filesystem.files");
    expect((await get(`/universes/${id}/initial_data`, { region: "eu" })).status).toBe(404);
  }
  for (const id of clientIds) {
    const expected = { success: true, data: { client_id: id }, message: null };
    expect(await answer(`/white-labeling/get/${id}`)).toMatchObject(expected);
  }
  const failing = { success: false, data: null, message: expect.stringContaining("suspended") };
  expect(await answer(`/white-labeling/get/${failingClientId}`)).toEqual(failing);
});

test("past two requests a second a key gets 429 with Retry-After, in that region alone", async () => {
  const { clock, get } = await startSimulator({ rateLimit: undefined });
  const statusOf = async (how: { key?: string; region?: string } = {}) =>
    (await get("/universes", how)).status;
  expect([await statusOf(), await statusOf(), await statusOf()]).toEqual([200, 200, 429]);
  expect((await get("/local-sandbox")).headers.get("retry-after")).toBe("1");
  expect(await statusOf({ region: "eu" })).toBe(200);
  expect(await statusOf({ key: "training" })).toBe(200);
  clock.advance(499);
  expect([await statusOf(), await statusOf()]).toEqual([200, 429]);
});

test("what the client reads of any region is what the simulator was given", async () => {
  await fc.assert(
    fc.asyncProperty(regionContent, async (content) => {
      const clock = createFakeClock();
      const keys = [{ name: "key", apiKey: "key" }];
      const world = { seed: 1, clock, regions: ["us"], keys, servers: 5, rateLimit: null };
      const simulator = createSimulator({ ...world, content: { us: content } });
      const bases = await simulator.listen({ host: "127.0.0.1", port: 0 });
      const client = createServiceClient({
        regions: new Map([["us", { baseUrl: bases.get("us") ?? "" }]]),
        timeoutMs: 10_000,
        maxBodyBytes: 1024 * 1024,
        userAgent: "sandwatch/test",
        clock,
      });
      const call = { region: "us", apiKey: new Secret("key") };
      const plain = { kind: "ok", status: 200, deviations: [] };

      const listed = await client.listSandboxes({ ...call, before: emptySnapshot, poll: 0 });
      const sandboxes = content.local_sandboxes.map((sandbox) => ({
        id: sandbox.local_sandbox_id,
        status: sandbox.status ?? null,
        benchmark: sandbox.benchmark ?? null,
        servers: sandbox.servers.map((server) => ({
          id: server.id,
          name: server.server_name ?? null,
          status: server.status ?? null,
          benchmark: server.benchmark ?? null,
          tags: server.tags ?? [],
        })),
      }));
      expect(listed).toMatchObject({ ...plain, value: { partial: null, listing: { sandboxes } } });
      const expected: readonly (readonly [Lookup, unknown])[] = [
        [{ operation: "list_universes" }, { universes: content.universes }],
        ...content.users.map((user) => [{ operation: "get_user", id: user.userId }, user] as const),
        ...Object.entries(content.universe_data).map(
          ([id, value]) => [{ operation: "get_universe_data", id }, value] as const,
        ),
        ...Object.entries(content.white_labels).map(
          ([id, value]) => [{ operation: "get_white_label", id }, value] as const,
        ),
      ];
      for (const [lookup, value] of expected) {
        expect(await client.look(call, lookup)).toEqual({ ...plain, value });
      }
      await client.close();
      await simulator.close();
    }),
    { numRuns: 12 },
  );
});

test("each region holds what it was given, and what is made up of the rest", async () => {
  const { simulator, get } = await startSimulator({
    content: {
      us: { servers: 3, users: 2, universes: 1, white_labels: 0 },
      eu: { users: [{ userId: "ann", createdAt: "then" }], universe_data: { "no-list": null } },
    },
  });
  expect(simulator.knownIds("us")).toEqual({
    userIds: ["user-1", "user-2"],
    universeIds: ["universe-us-1"],
    clientIds: [],
    failingClientId: "client-suspended",
  });
  for (const [region, servers] of [["us", 3] as const, ["eu", 40] as const]) {
    expect([...simulator.truth({ region, key: "research" }, 0)]).toHaveLength(servers);
  }
  const ann = await get("/user/ann", { region: "eu" });
  expect(await ann.json()).toEqual({ userId: "ann", createdAt: "then" });
  const data = await get("/universes/no-list/initial_data", { region: "eu" });
  expect([data.status, await data.json()]).toEqual([200, null]);
});
