import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { Config } from "../../src/config/config.ts";
import { makeHistory } from "../../src/cli/demo-history.ts";
import { configuredTargets } from "../../src/config/configured-targets.ts";
import { statuses } from "../../src/fleet/model.ts";
import { resolutions } from "../../src/fleet/buckets.ts";
import type { Resolution } from "../../src/fleet/buckets.ts";
import { findServer } from "../../src/fleet/snapshot.ts";
import { steady } from "../../src/simulator/server-status.ts";
import { createWorld } from "../../src/simulator/world.ts";
import { openStore } from "../../src/store/store.ts";
import type { Store } from "../../src/store/store.ts";
import { bucketsIn, collect } from "../support/collect.ts";
import { rebuiltTimes } from "../support/history/server-times.ts";
import { createFakeClock } from "../support/fake-clock.ts";
import { tempFolder } from "../support/temp-folder.ts";
import { testConfig } from "../support/test-config.ts";

const hourMs = 3_600_000;
const untilMs = Date.UTC(2026, 10, 20, 9, 31, 7);
const always = { fromMs: 0, toMs: Number.MAX_SAFE_INTEGER };

function worldOf(seed: number) {
  return createWorld(seed, steady(1 / 8));
}

function configOf(path: string): Config {
  return testConfig({
    regions: { us: { base_url: "http://127.0.0.1:1" }, eu: { base_url: "http://127.0.0.1:1" } },
    keys: [{ name: "research", api_key: "simulated" }],
    store: { path },
    alerts: { receivers: [{ name: "oncall", type: "webhook", url: "http://127.0.0.1:1" }] },
  });
}

interface Made {
  readonly config: Config;
  readonly store: Store;
  readonly polls: number;
}

async function make(
  seed: number,
  folder: string,
  { days = 2, signal = new AbortController().signal } = {},
): Promise<Made & AsyncDisposable> {
  const config = configOf(join(folder, "sandwatch.db"));
  const past = { config, seed, world: worldOf(seed), servers: 12, days };
  const polls = await makeHistory(past, signal, createFakeClock(untilMs));
  const store = openStore(config.store.path);
  return { config, store, polls, [Symbol.asyncDispose]: () => store.close() };
}

const allBuckets = (store: Store, resolution: Resolution) =>
  bucketsIn(store.occupancy, { resolution });

async function contentOf({ store }: Made) {
  return {
    buckets: await allBuckets(store, "5m"),
    changes: await collect(
      store.changes.between({ ...always, direction: "asc", observations: true }),
    ),
    targets: await store.targets.all(),
    incidents: await store.incidents.page({ phases: [], rules: [], limit: 10_000, before: null }),
  };
}

describe("the past that a demo begins with", () => {
  const folders = new DisposableStack();
  let made: Made;
  beforeAll(async () => {
    made = await make(1, folders.use(ownFolder()).path);
  });
  afterAll(async () => {
    await made.store.close();
    folders.dispose();
  });

  it("is the same for the same seed, and another one for another", async () => {
    const short = { days: 0.5 };
    await using one = await make(1, tempFolder(), short);
    await using again = await make(1, tempFolder(), short);
    await using other = await make(2, tempFolder(), short);
    const content = await contentOf(one);
    expect(content.changes.length).toBeGreaterThan(100);
    expect(await contentOf(again)).toEqual(content);
    expect((await contentOf(other)).changes).not.toEqual(content.changes);
  });

  it("adds up: each server's time, and that of their names at every resolution", async () => {
    const { store, config } = made;
    for (const target of configuredTargets(config)) {
      const { region } = target;
      const select = { ...always, region: [region] };
      const gaps = await collect(store.occupancy.gaps({ ...always, target }));
      const changes = await collect(
        store.changes.between({ ...select, direction: "asc", observations: true }),
      );
      const times = [...rebuiltTimes(changes, gaps, untilMs).values()];
      for (const resolution of resolutions) {
        const buckets = await bucketsIn(store.occupancy, { ...select, resolution });
        const accounts = buckets.flatMap(({ bucket }) => [...bucket.names.values()]);
        for (const status of [...statuses, "unobserved"] as const) {
          const ofNames = accounts.map(({ ms, unobservedMs }) =>
            status === "unobserved" ? unobservedMs : ms[status],
          );
          expect(sum(ofNames)).toBe(sum(times.map((each) => each.get(status) ?? 0)));
        }
        const recordedMs = sum(buckets.map(({ bucket }) => bucket.recordedMs));
        expect(recordedMs).toBeGreaterThan(47 * hourMs);
        expect(recordedMs).toBeLessThanOrEqual(48 * hourMs);
      }
    }
  });

  it("ends as the world is when the daemon goes on", async () => {
    for (const { id, target } of await made.store.targets.all()) {
      const snapshot = await made.store.targets.snapshotOf(id);
      const view = { target, utcMs: untilMs, servers: 12, pins: new Map() };
      const now = Array.from(worldOf(1).sandboxes(view), ({ servers }) => servers).flat();
      expect(now).toHaveLength(12);
      for (const { sandboxId, serverId, status } of now) {
        expect(findServer(snapshot, sandboxId, serverId)).toMatchObject({ status, missing: 0 });
      }
    }
  });

  it("has incidents that came and went, of which nobody is told", async () => {
    const { incidents } = await contentOf(made);
    expect(incidents.length).toBeGreaterThan(5);
    const phases = new Set(incidents.map(({ incident }) => incident.phase.name));
    expect(phases).toContain("resolved");
    expect(incidents.flatMap(({ incident }) => incident.receivers)).toEqual([]);
    expect(await made.store.outbox.figures()).toEqual([]);
  });

  it("ends early when it is stopped", async () => {
    await using stopped = await make(1, tempFolder(), { signal: AbortSignal.abort() });
    expect(stopped.polls).toBeLessThan(made.polls * 0.6);
  });
});

/** Of all tests together. */
function ownFolder(): Disposable & { readonly path: string } {
  const path = mkdtempSync(join(tmpdir(), "sandwatch-test-"));
  return { path, [Symbol.dispose]: () => rmSync(path, { recursive: true, force: true }) };
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, each) => total + each, 0);
}
