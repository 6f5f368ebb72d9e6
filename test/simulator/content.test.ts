import * as fc from "fast-check";
import { expect, test } from "vitest";
import { Secret } from "../../src/lib/secret.ts";
import { emptySnapshot } from "../../src/fleet/snapshot.ts";
import { createServiceClient } from "../../src/service/client.ts";
import { createSimulator } from "../../src/simulator/simulator.ts";
import { createFakeClock } from "../support/fake-clock.ts";
import { regionContent } from "../support/random-resources.ts";
import { startSimulator } from "./start-simulator.ts";

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
      for (const user of content.users) {
        const value = { ...user, lastUsedAt: user.lastUsedAt ?? null };
        expect(await client.getUser(call, user.userId)).toEqual({ ...plain, value });
      }
      expect(await client.listUniverses(call)).toEqual({
        ...plain,
        value: content.universes.map((universe) => ({
          universeId: universe.universe_id,
          name: universe.name,
          description: universe.description,
          domain: universe.domain,
          personas: universe.personas,
          taskNums: universe.task_nums,
          createdAt: universe.created_at,
        })),
      });
      for (const [id, value] of Object.entries(content.universe_data)) {
        expect(await client.getUniverseData(call, id)).toEqual({ ...plain, value });
      }
      for (const [id, { success, data, message }] of Object.entries(content.white_labels)) {
        const value = { success, data: data ?? null, message: message ?? null };
        expect(await client.getWhiteLabel(call, id)).toEqual({ ...plain, value });
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
  expect((await get("/user/user-3")).status).toBe(404);
  expect(await (await get("/user/ann", { region: "eu" })).json()).toEqual({
    userId: "ann",
    createdAt: "then",
  });
  const data = await get("/universes/no-list/initial_data", { region: "eu" });
  expect([data.status, await data.json()]).toEqual([200, null]);
  expect((await get("/universes/universe-eu-1/initial_data", { region: "eu" })).status).toBe(200);
});
