import * as fc from "fast-check";
import { expect, test } from "vitest";
import type { Target } from "../../src/fleet/model.ts";
import { changing, steady } from "../../src/simulator/tempo.ts";
import type { Tempo } from "../../src/simulator/tempo.ts";
import { createWorld, type SimulatedServer } from "../../src/simulator/world.ts";
import { us } from "./start-simulator.ts";

const hourMs = 3_600_000;
const startMs = Date.UTC(2026, 10, 20, 9, 30);
const aSeed = fc.integer();
const aMoment = fc.integer({ min: startMs, max: startMs + 365 * 24 * hourMs });

interface Look {
  readonly seed?: number;
  readonly target?: Target;
  readonly utcMs?: number;
  readonly servers?: number;
  readonly pace?: number;
}

function sandboxesOf({ seed = 1, target = us, utcMs = startMs, servers = 60, pace = 1 }: Look) {
  return [...createWorld(seed, pace).sandboxes({ target, utcMs, servers, pins: new Map() })];
}

function serversOf(look: Look): readonly SimulatedServer[] {
  return sandboxesOf(look).flatMap(({ servers }) => servers);
}

function mean(counts: readonly number[]): number {
  return counts.reduce((sum, count) => sum + count, 0) / counts.length;
}

test("equal seed, target and time give an equal world", () => {
  fc.assert(
    fc.property(aSeed, aMoment, (seed, utcMs) => {
      expect(sandboxesOf({ seed, utcMs })).toEqual(sandboxesOf({ seed, utcMs }));
    }),
    { numRuns: 30 },
  );
});

test("another seed, region or key gives other ids throughout", () => {
  const ids = (look: Look) => serversOf(look).map(({ serverId }) => serverId);
  const known = new Set(ids({}));
  for (const look of [
    { seed: 2 },
    { target: { ...us, region: "eu" } },
    { target: { ...us, key: "training" } },
  ]) {
    expect(ids(look).filter((id) => known.has(id))).toEqual([]);
  }
});

test("there are exactly as many servers as asked for, with ids all distinct, one to six a sandbox", () => {
  fc.assert(
    fc.property(aSeed, aMoment, fc.nat(500), (seed, utcMs, count) => {
      const sandboxes = sandboxesOf({ seed, utcMs, servers: count });
      const servers = sandboxes.flatMap((sandbox) => sandbox.servers);
      expect(servers).toHaveLength(count);
      const ids = [...sandboxes.map((s) => s.sandboxId), ...servers.map((s) => s.serverId)];
      expect(new Set(ids).size).toBe(ids.length);
      for (const sandbox of sandboxes) {
        const names = new Set(sandbox.servers.map(({ serverName }) => serverName));
        const updates = sandbox.servers.map(({ updatedAtMs }) => updatedAtMs);
        expect([1, 2, 3, 4, 5, 6]).toContain(sandbox.servers.length);
        expect(names.size).toBe(sandbox.servers.length);
        expect(Math.min(...updates)).toBeGreaterThanOrEqual(sandbox.createdAtMs);
        expect(Math.max(...updates)).toBeLessThanOrEqual(utcMs);
      }
    }),
    { numRuns: 60 },
  );
});

test("a sandbox holds four servers on average", () => {
  const sandboxes = sandboxesOf({ servers: 20_000 });
  expect(20_000 / sandboxes.length).toBeGreaterThan(3.8);
  expect(20_000 / sandboxes.length).toBeLessThan(4.2);
});

test("ids stay distinct among fifty thousand servers", () => {
  const ids = new Set(serversOf({ servers: 50_000 }).map(({ serverId }) => serverId));
  expect(ids.size).toBe(50_000);
});

test("the most popular name has many times the servers of the least, and all names occur", () => {
  const counts = new Map<string, number>();
  for (const { serverName } of serversOf({ servers: 20_000 })) {
    counts.set(serverName, (counts.get(serverName) ?? 0) + 1);
  }
  expect(counts.size).toBe(75);
  expect(counts.get("filesystem")).toBeGreaterThan(20 * (counts.get("12306") ?? Infinity));
});

test("sandboxes are replaced in time by new ones with new ids", () => {
  const idsAt = (hours: number) =>
    sandboxesOf({ servers: 400, utcMs: startMs + hours * hourMs }).map((s) => s.sandboxId);
  const before = new Set(idsAt(0));
  const staying = (hours: number) => idsAt(hours).filter((id) => before.has(id)).length;
  expect(staying(1)).toBeGreaterThan(before.size * 0.9);
  expect(staying(1)).toBeLessThan(before.size);
  expect(staying(100)).toBe(0);
});

test("among sixty servers some change within half a minute, and some fall into error within minutes", () => {
  const seeds = Array.from({ length: 20 }, (_, seed) => seed);
  const statuses = (seed: number, afterMs: number) =>
    serversOf({ seed, utcMs: startMs + afterMs }).map((s) => `${s.serverId} ${s.status}`);

  const changes = seeds.map((seed) => {
    const before = new Set(statuses(seed, 0));
    return statuses(seed, 30_000).filter((entry) => !before.has(entry)).length;
  });
  expect(mean(changes)).toBeGreaterThan(3);
  expect(mean(changes)).toBeLessThan(15);

  const errors = seeds.map((seed) => {
    const seen = new Set<string>();
    for (let afterMs = 0; afterMs < 10 * 60_000; afterMs += 10_000) {
      for (const entry of statuses(seed, afterMs)) if (entry.endsWith("error")) seen.add(entry);
    }
    return seen.size;
  });
  expect(mean(errors)).toBeGreaterThan(3);
});

test("where its tempo changes nothing jumps: the world goes on, faster or slower", () => {
  const slow = steady(0.25);
  const tempo = changing(0.25, startMs, 4);
  const at = (utcMs: number, of: Tempo) => [
    ...createWorld(1, of).sandboxes({ target: us, utcMs, servers: 60, pins: new Map() }),
  ];
  for (const hours of [-1_000, -1, 0]) {
    const utcMs = startMs + hours * hourMs;
    expect(at(utcMs, tempo)).toEqual(at(utcMs, slow));
  }
  const idsIn = (hours: number, of: Tempo) =>
    at(startMs + hours * hourMs, of).map(({ sandboxId }) => sandboxId);
  expect(idsIn(3, tempo)).toEqual(idsIn(48, slow));
});

test("a world of pace zero stands still", () => {
  const now = sandboxesOf({ pace: 0 });
  expect(sandboxesOf({ pace: 0, utcMs: startMs + 1_000 * hourMs })).toEqual(now);
  expect(now).not.toEqual([]);
});
