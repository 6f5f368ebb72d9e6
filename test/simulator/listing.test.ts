import { expect, test } from "vitest";
import { listingBody } from "../../src/simulator/listing.ts";
import { createWorld, variedManners } from "../../src/simulator/world.ts";
import { serversIn, startSimulator, us } from "./start-simulator.ts";

const path = "/local-sandbox";

test("a listing holds the fields of the interface document and what the truth says", async () => {
  const { simulator, clock, list } = await startSimulator({ servers: 2_000 });
  for (let round = 0; round < 3; round++) {
    const { local_sandboxes: sandboxes, total_count: count } = await list();
    const listed = sandboxes.flatMap((sandbox) =>
      sandbox.servers.map((server) => ({
        sandboxId: sandbox.local_sandbox_id,
        serverId: server.id,
        serverName: server.server_name,
        status: server.status,
        benchmark: server.benchmark,
        tags: server.tags,
        updatedAtMs: Date.parse(server.updated_at),
      })),
    );
    const truth = [...simulator.truth(us, clock.now().utcMs)];
    expect(listed).toEqual(truth.map((server) => ({ ...server, seed: undefined })));
    expect(count).toBe(sandboxes.length);
    clock.advance(3_600_000);
  }
});

test("some servers carry metadata, auth data and tags, most carry none, and all have an address", async () => {
  const listing = await (await startSimulator({ servers: 1_000 })).list();
  const servers = serversIn(listing);
  for (const field of ["metadata", "auth_data", "tags"] as const) {
    const carrying = servers.filter((server) => server[field] !== null).length;
    expect([carrying > 30, carrying < 300]).toEqual([true, true]);
  }
  for (const { local_sandbox_id: id, servers: ofSandbox } of listing.local_sandboxes) {
    for (const { mcp_server_url: url, server_name: name, auth_data: auth } of ofSandbox) {
      expect(url).toMatch(new RegExp(`^https://[^/]+/${name}/mcp/\\?local_sandbox_id=${id}$`));
      expect(auth?.["access_token"] ?? "simulated-secret-").toMatch(/^simulated-secret-/);
    }
  }
});

test("a listing is made chunk by chunk as it is asked for", () => {
  const view = { target: us, utcMs: 0, servers: 1_000_000_000, pins: new Map() };
  const body = listingBody(createWorld(1, 1), view, []);
  for (let chunk = 0; chunk < 3; chunk++) {
    const { value } = body.next();
    expect(value?.length).toBeGreaterThan(64 * 1024 - 1);
    expect(value?.length).toBeLessThan(72 * 1024);
  }
});

test("a pinned server shows its pin and the rest what it did, until unpinned", async () => {
  const { simulator, list } = await startSimulator({ pace: 0 });
  const statuses = async () =>
    new Map(serversIn(await list()).map(({ id, status }) => [id, status]));
  const before = await statuses();
  const [first = "", second = "", third = ""] = before.keys();
  simulator.pin(us, first, "error");
  simulator.pin(us, second, null);
  simulator.pin(us, third, "absent");
  simulator.pin({ ...us, key: "training" }, first, "idle");
  simulator.pin({ ...us, region: "eu" }, first, "idle");
  const pinned = new Map(before).set(first, "error").set(second, null);
  pinned.delete(third);
  expect(await statuses()).toEqual(pinned);
  const sandbox = (await list()).local_sandboxes.find(({ servers }) => servers[0]?.id === first);
  expect(sandbox?.status).toBe("error");
  for (const id of [first, second, third]) simulator.unpin(us, id);
  expect(await statuses()).toEqual(before);
});

test("a pinned sandbox states its pin and its servers what they did, until unpinned", async () => {
  const { simulator, clock, list } = await startSimulator({ pace: 0, manners: variedManners });
  const before = (await list()).local_sandboxes;
  const known = Array.from(simulator.sandboxes(us, clock.now().utcMs), (each) => each.sandboxId);
  expect(before.map(({ local_sandbox_id: id }) => id)).toEqual(known);
  const [first = "", bare = "", third = ""] = known;
  simulator.pin(us, first, "error");
  simulator.pin(us, bare, null);
  simulator.pin(us, third, "absent");
  expect((await list()).local_sandboxes).toEqual([
    { ...before[0], status: "error" },
    { ...before[1], status: null, servers: [] },
    ...before.slice(3),
  ]);
  for (const id of known) simulator.unpin(us, id);
  expect((await list()).local_sandboxes).toEqual(before);
});

test("a partial listing counts the sandboxes that it does not list", async () => {
  const { simulator, list } = await startSimulator();
  const whole = await list();
  simulator.setFaults([{ kind: "partial", share: 0.3 }]);
  const partial = await list();
  expect(partial.total_count).toBe(whole.total_count);
  const share = 1 - partial.local_sandboxes.length / whole.local_sandboxes.length;
  expect(share).toBeGreaterThan(0.2);
  expect(share).toBeLessThan(0.45);
  expect(whole.local_sandboxes).toEqual(expect.arrayContaining(partial.local_sandboxes));
});

test("servers vanish, the same ones each time, and nothing says so", async () => {
  const { simulator, list } = await startSimulator({ faults: [{ kind: "vanish", share: 0.25 }] });
  const listing = await list();
  expect(serversIn(listing)).toHaveLength(30);
  expect(listing.total_count).toBe(listing.local_sandboxes.length);
  expect(await list()).toEqual(listing);
  simulator.setFaults([{ kind: "vanish", share: 1 }]);
  expect(await list()).toEqual({ local_sandboxes: [], total_count: 0 });
  simulator.setFaults([{ kind: "vanish", share: 0.01 }]);
  expect(serversIn(await list())).toHaveLength(39);
});

test.each([
  ["null_status", '"status":null'],
  ["unheard_status", '"hibernating"'],
  ["missing_id", '{"created_at"'],
  ["missing_id", '{"server_name"'],
  ["wrong_types", '"status":7'],
  ["unknown_field", '"gpu":{"count":2}'],
  ["duplicate_id", /"id":"(0dd0[^"]+)".*"id":"\1"/],
  ["duplicate_id", /"local_sandbox_id":"(0dd0[^"]+)".*"local_sandbox_id":"\1"/],
  ["special_characters", String.raw`quote \" backslash \\ newline \n`],
  ["long_string", /x{5000}"/],
] as const)("odd things of the kind %s stand before a true listing", async (kind, sign) => {
  const { simulator, get } = await startSimulator();
  const truth = await (await get(path)).text();
  const listed = truth.slice(truth.indexOf("[") + 1, truth.lastIndexOf("]"));
  simulator.setFaults([{ kind: "odd", kinds: [kind], length: 5_000 }]);
  const body = await (await get(path)).text();
  expect(JSON.parse(body)).toHaveProperty("local_sandboxes");
  expect(body).toContain(listed);
  expect(body.slice(0, body.indexOf(listed))).toMatch(sign);
});

test("a huge listing holds that many servers, all with ids of their own", async () => {
  const { list } = await startSimulator({ faults: [{ kind: "huge", servers: 30_000 }] });
  const listing = await list();
  expect(new Set(serversIn(listing).map(({ id }) => id)).size).toBe(30_000);
  expect(listing.total_count).toBe(listing.local_sandboxes.length);
});
