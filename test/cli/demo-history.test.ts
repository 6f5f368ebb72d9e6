import { join } from "node:path";
import { expect, it } from "vitest";
import { makeHistory } from "../../src/cli/demo-history.ts";
import { resolutions } from "../../src/fleet/buckets.ts";
import { findSandbox, findServer } from "../../src/fleet/snapshot.ts";
import { tempoOf } from "../../src/simulator/server-status.ts";
import { createWorld, variedManners } from "../../src/simulator/world.ts";
import { openStore } from "../../src/store/store.ts";
import { bucketsIn, collect } from "../support/collect.ts";
import { createFakeClock } from "../support/fake-clock.ts";
import { tempFolder } from "../support/temp-folder.ts";
import { testConfig } from "../support/test-config.ts";

const hourMs = 3_600_000;
const untilMs = Date.UTC(2026, 10, 20, 9, 31, 7);
const worldOf = (seed: number) => createWorld(seed, tempoOf(1 / 8), undefined, variedManners);

async function make(seed: number, signal = new AbortController().signal) {
  const url = "http://127.0.0.1:1";
  const config = testConfig({
    regions: { us: { base_url: url }, eu: { base_url: url } },
    keys: [{ name: "research", api_key: "simulated" }],
    store: { path: join(tempFolder(), "sandwatch.db") },
    alerts: { receivers: [{ name: "oncall", type: "webhook", url }] },
  });
  const past = { config, seed, world: worldOf(seed), servers: 12, days: 1 };
  const polls = await makeHistory(past, signal, createFakeClock(untilMs));
  const store = openStore(config.store.path);
  const always = { fromMs: 0, toMs: Number.MAX_SAFE_INTEGER, direction: "asc" } as const;
  const changes = await collect(
    store.changes.ofSubjects({ ...always, subject: ["server"], observations: true }),
  );
  const page = { phases: [], rules: [], limit: 10_000, before: null };
  const incidents = await store.incidents.page(page);
  return { store, polls, changes, incidents, [Symbol.asyncDispose]: () => store.close() };
}

it("the history of a demo is that of its seed, covers its days, notifies nobody, and ends as the world is", async () => {
  await using made = await make(1);
  await using again = await make(1);
  await using other = await make(2);
  const { store, incidents, changes } = made;
  expect(changes.length).toBeGreaterThan(100);
  expect([again.changes, again.incidents]).toEqual([changes, incidents]);
  expect(other.changes).not.toEqual(changes);
  for (const resolution of resolutions) {
    const buckets = await bucketsIn(store.occupancy, { resolution });
    const recordedMs = buckets.reduce((sum, { bucket }) => sum + bucket.recordedMs, 0);
    expect(recordedMs / 2).toBeGreaterThan(23 * hourMs);
    expect(recordedMs / 2).toBeLessThanOrEqual(24 * hourMs);
  }
  expect(incidents.map(({ incident }) => incident.phase.name)).toContain("resolved");
  expect(incidents.flatMap(({ incident }) => incident.receivers)).toEqual([]);
  expect(await store.outbox.figures()).toEqual([]);

  for (const { id, target } of await store.targets.all()) {
    const snapshot = await store.targets.snapshotOf(id);
    const view = { target, utcMs: untilMs, servers: 12, pins: new Map() };
    const now = [...worldOf(1).sandboxes(view)];
    expect(now.flatMap(({ servers }) => servers)).toHaveLength(12);
    expect(now.filter(({ servers }) => servers.length === 0)).not.toEqual([]);
    for (const { sandboxId, status: ofSandbox, servers } of now) {
      expect(findSandbox(snapshot, sandboxId)).toMatchObject({
        statedStatus: ofSandbox,
        missing: 0,
      });
      for (const { serverId, status } of servers) {
        const shown = { status: status ?? ofSandbox, missing: 0 };
        expect(findServer(snapshot, sandboxId, serverId)).toMatchObject(shown);
      }
    }
  }
  await using stopped = await make(1, AbortSignal.abort());
  expect(stopped.polls).toBeLessThan(made.polls * 0.6);
});
