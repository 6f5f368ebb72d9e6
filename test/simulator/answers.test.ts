import * as fc from "fast-check";
import { expect, test } from "vitest";
import { z } from "zod";
import { emptySnapshot } from "../../src/fleet/snapshot.ts";
import { Secret } from "../../src/lib/secret.ts";
import { createServiceClient } from "../../src/service/client.ts";
import type { Lookup } from "../../src/service/operations.ts";
import { createSimulator } from "../../src/simulator/simulator.ts";
import { createFakeClock } from "../support/fake-clock.ts";
import { regionContent } from "../support/random-resources.ts";
import { startSimulator } from "./start-simulator.ts";

const lookUps = [
  ["userId", (id: string) => `/user/${id}`],
  ["universe_id", (id: string) => `/universes/${id}/initial_data`],
  ["client_id", (id: string) => `/white-labeling/get/${id}`],
] as const;

test.each([
  ["no Authorization", undefined, 401],
  ["another scheme", "Basic cmVzZWFyY2g=", 401],
  ["no key after Bearer", "Bearer ", 401],
  ["two words after Bearer", "Bearer research-key more", 401],
  ["an unknown key", "Bearer research-key2", 403],
  ["a known key", "Bearer research-key", 200],
  ["a known key and a lower-case scheme", "bearer research-key", 200],
])("%s is answered %s with %i", async (_, authorization, status) => {
  const { get } = await startSimulator();
  const headers = authorization === undefined ? {} : { authorization };
  for (const path of ["/local-sandbox", "/universes", "/user/user-1"]) {
    expect((await get(path, { init: { headers } })).status).toBe(status);
  }
});

test.each(["POST", "HEAD"])("%s is refused with 405", async (method) => {
  const { get } = await startSimulator();
  const headers = { authorization: "Bearer research-key" };
  const response = await get("/local-sandbox", { init: { method, headers } });
  expect([response.status, response.headers.get("allow")]).toEqual([405, "GET"]);
});

test.each(["", "/", "/local-sandboxes", "/local-sandbox/1", "/user/", "/../mars/universes"])(
  "the unknown path %j is answered with 404",
  async (path) => {
    const { get } = await startSimulator();
    expect((await get(path)).status).toBe(404);
  },
);

test.each(lookUps)("an unknown or invalid %s has the interface's answer", async (name, path) => {
  const { get } = await startSimulator();
  const tooLong = "x".repeat(129);
  expect((await get(path(tooLong.slice(1)))).status).toBe(404);
  for (const [id, input] of [
    [tooLong, tooLong],
    ["a%0Ab", "a\nb"],
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

  const user = z.strictObject({
    userId: z.string(),
    createdAt: z.iso.datetime({ offset: true }),
    lastUsedAt: z.iso.datetime({ offset: true }).nullable(),
  });
  const users = await Promise.all(
    userIds.map(async (id) => user.parse(await answer(`/user/${id}`))),
  );
  expect(users.map(({ userId }) => userId)).toEqual(userIds);
  const neverUsed = users.filter(({ lastUsedAt }) => lastUsedAt === null);
  expect(neverUsed.length).toBeGreaterThan(0);
  expect(neverUsed.length).toBeLessThan(users.length);
  expect(users[0]).not.toEqual(await answer("/user/user-1", "eu"));

  const listed = universeIds.map((id) => expect.objectContaining({ universe_id: id }));
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
  clock.advance(60_000);
  expect([await statusOf(), await statusOf(), await statusOf()]).toEqual([200, 200, 429]);
});

test("what the client reads of any region is what the simulator was given", async () => {
  await fc.assert(
    fc.asyncProperty(regionContent, async (content) => {
      const clock = createFakeClock();
      const simulator = createSimulator({
        seed: 1,
        clock,
        regions: ["us"],
        keys: [{ name: "key", apiKey: "key" }],
        servers: 5,
        rateLimit: null,
        content: { us: content },
      });
      const bases = await simulator.listen({ host: "127.0.0.1", port: 0 });
      const client = createServiceClient({
        regions: new Map(Array.from(bases, ([region, baseUrl]) => [region, { baseUrl }])),
        timeoutMs: 10_000,
        maxBodyBytes: 1024 * 1024,
        userAgent: "sandwatch/test",
        clock,
      });
      const call = { region: "us", apiKey: new Secret("key") };
      const plain = { kind: "ok", status: 200, deviations: [] };

      const listed = await client.listSandboxes({ ...call, before: emptySnapshot, poll: 0 });
      if (listed.kind === "failed") throw new Error(listed.detail);
      expect(listed).toMatchObject({ ...plain, value: { partial: null } });
      expect(listed.value.listing.sandboxes).toEqual(
        content.local_sandboxes.map((sandbox) => ({
          id: sandbox.local_sandbox_id,
          status: sandbox.status ?? "unknown",
          benchmark: sandbox.benchmark ?? null,
          servers: sandbox.servers.map((server) => ({
            id: server.id,
            name: server.server_name ?? null,
            status: server.status ?? "unknown",
            benchmark: server.benchmark ?? null,
            tags: server.tags ?? [],
          })),
        })),
      );
      const look = (lookup: Lookup) => client.look(call, lookup);
      for (const user of content.users) {
        const answer = await look({ operation: "get_user", id: user.userId });
        expect(answer).toEqual({ ...plain, value: user });
      }
      const { universes } = content;
      expect(await look({ operation: "list_universes" })).toEqual({
        ...plain,
        value: { universes },
      });
      for (const [id, value] of Object.entries(content.universe_data)) {
        expect(await look({ operation: "get_universe_data", id })).toEqual({ ...plain, value });
      }
      for (const [id, value] of Object.entries(content.white_labels)) {
        expect(await look({ operation: "get_white_label", id })).toEqual({ ...plain, value });
      }
      await client.close();
      await simulator.close();
    }),
    { numRuns: 30 },
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
  expect([...simulator.truth({ region: "us", key: "research" }, 0)]).toHaveLength(3);
  expect([...simulator.truth({ region: "eu", key: "research" }, 0)]).toHaveLength(40);
  const ann = await get("/user/ann", { region: "eu" });
  expect(await ann.json()).toEqual({ userId: "ann", createdAt: "then" });
  const data = await get("/universes/no-list/initial_data", { region: "eu" });
  expect([data.status, await data.json()]).toEqual([200, null]);
});
