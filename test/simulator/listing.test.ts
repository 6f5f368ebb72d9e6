import * as fc from "fast-check";
import { expect, test } from "vitest";
import { listingBody } from "../../src/simulator/listing.ts";
import { createWorld } from "../../src/simulator/world.ts";
import { readListing, serversOf, statusesOf } from "./listed.ts";
import { startSimulator, us } from "./start-simulator.ts";

test("a listing holds the fields of the interface document and what the truth says", async () => {
  const { simulator, clock, get } = await startSimulator({ servers: 2_000 });
  for (let round = 0; round < 3; round++) {
    const response = await get("/local-sandbox");
    expect(response.headers.get("content-type")).toBe("application/json");
    const listing = await readListing(response);
    const listed = listing.local_sandboxes.flatMap((sandbox) =>
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
    expect(listing.total_count).toBe(listing.local_sandboxes.length);
    clock.advance(3_600_000);
  }
});

test("two simulators of one seed send the same bytes, another seed sends others", async () => {
  const bodyOf = async (seed: number) => {
    const { get } = await startSimulator({ seed });
    return (await get("/local-sandbox")).text();
  };
  const body = await bodyOf(3);
  expect(await bodyOf(3)).toBe(body);
  expect(await bodyOf(4)).not.toBe(body);
});

test("each key of each region has servers of its own", async () => {
  const { get } = await startSimulator();
  const ids = new Set<string>();
  for (const region of ["us", "eu"]) {
    for (const key of ["research", "training"]) {
      const listing = await readListing(await get("/local-sandbox", { region, key }));
      for (const { id } of serversOf(listing)) ids.add(id);
    }
  }
  expect(ids.size).toBe(4 * 40);
});

test("times carry the offset of the region", async () => {
  const { get } = await startSimulator();
  const offsets = async (region: string) => {
    const listing = await readListing(await get("/local-sandbox", { region }));
    return new Set(serversOf(listing).map((server) => server.updated_at.slice(-6)));
  };
  expect(await offsets("us")).toEqual(new Set(["-08:00"]));
  expect(await offsets("eu")).toEqual(new Set(["+01:00"]));
});

test("some servers carry metadata, auth data and tags, and most carry none", async () => {
  const { get } = await startSimulator({ servers: 1_000 });
  const servers = serversOf(await readListing(await get("/local-sandbox")));
  for (const field of ["metadata", "auth_data", "tags"] as const) {
    const carrying = servers.filter((server) => server[field] !== null).length;
    expect(carrying).toBeGreaterThan(30);
    expect(carrying).toBeLessThan(300);
  }
  const tokens = servers.filter(({ auth_data: authData }) => authData !== null);
  for (const { auth_data: authData } of tokens) {
    expect(authData?.["access_token"]).toMatch(/^simulated-secret-/);
  }
  for (const sandbox of (await readListing(await get("/local-sandbox"))).local_sandboxes) {
    for (const { mcp_server_url: url, server_name: name } of sandbox.servers) {
      expect(url).toMatch(
        new RegExp(`^https://[^/]+/${name}/mcp/\\?local_sandbox_id=${sandbox.local_sandbox_id}$`),
      );
    }
  }
});

test("a listing of thirty thousand servers is whole and valid", async () => {
  const { get } = await startSimulator({ servers: 30_000 });
  const listing = await readListing(await get("/local-sandbox"));
  expect(statusesOf(listing).size).toBe(30_000);
  expect(listing.total_count).toBe(listing.local_sandboxes.length);
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
  const { simulator, clock, get } = await startSimulator({ pace: 0 });
  const statuses = async () => statusesOf(await readListing(await get("/local-sandbox")));
  const before = await statuses();
  fc.assert(
    fc.property(fc.subarray([...before.keys()]), (ids) => {
      for (const id of ids) simulator.pin(us, id, "unheard-of");
      const truth = [...simulator.truth(us, clock.now().utcMs)];
      for (const { serverId, status } of truth) {
        expect(status).toBe(ids.includes(serverId) ? "unheard-of" : before.get(serverId));
      }
      for (const id of ids) simulator.unpin(us, id);
    }),
    { numRuns: 20 },
  );
  const [first = "", second = "", third = ""] = before.keys();
  simulator.pin(us, first, "error");
  simulator.pin(us, second, null);
  simulator.pin(us, third, "absent");
  const pinned = new Map(before);
  pinned.set(first, "error").set(second, null).delete(third);
  expect(await statuses()).toEqual(pinned);
  for (const id of [first, second, third]) simulator.unpin(us, id);
  expect(await statuses()).toEqual(before);
});

test("a pinned error makes its sandbox show an error", async () => {
  const { simulator, get } = await startSimulator({ pace: 0 });
  const [{ serverId, sandboxId } = { serverId: "", sandboxId: "" }] = simulator.truth(us, 0);
  simulator.pin(us, serverId, "error");
  const { local_sandboxes: sandboxes } = await readListing(await get("/local-sandbox"));
  const sandbox = sandboxes.find(({ local_sandbox_id: id }) => id === sandboxId);
  expect(sandbox?.status).toBe("error");
});

test("a pin touches its own target alone", async () => {
  const { simulator, get } = await startSimulator({ pace: 0 });
  const before = await readListing(await get("/local-sandbox"));
  const [{ serverId } = { serverId: "" }] = simulator.truth(us, 0);
  for (const other of [
    { ...us, key: "training" },
    { ...us, region: "eu" },
  ]) {
    simulator.pin(other, serverId, "error");
  }
  expect(await readListing(await get("/local-sandbox"))).toEqual(before);
});
