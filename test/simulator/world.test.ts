import * as fc from "fast-check";
import { expect, test } from "vitest";
import type { Target } from "../../src/fleet/model.ts";
import { tempoOf, type Tempo } from "../../src/simulator/server-status.ts";
import { createWorld, variedManners } from "../../src/simulator/world.ts";
import type { Manner, SimulatedServer } from "../../src/simulator/world.ts";
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
  readonly pace?: number | Tempo;
  readonly manners?: readonly Manner[];
}

function sandboxesOf({ seed = 1, target = us, utcMs = startMs, servers = 60, ...look }: Look) {
  const world = createWorld(seed, look.pace ?? 1, undefined, look.manners);
  return [...world.sandboxes({ target, utcMs, servers, pins: new Map() })];
}

function serversOf(look: Look): readonly SimulatedServer[] {
  return sandboxesOf(look).flatMap(({ servers }) => servers);
}

test("equal seed, target and time give an equal world; another seed, region or key gives other ids throughout", () => {
  expect(sandboxesOf({})).toEqual(sandboxesOf({}));
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
    { numRuns: 25 },
  );
});

test("in a varied world as many servers as asked for are in sandboxes that differ in who states a status", () => {
  const found = new Set<string>();
  for (let hours = 0; hours < 200; hours++) {
    const utcMs = startMs + hours * hourMs;
    const sandboxes = sandboxesOf({ manners: variedManners, servers: 30, utcMs });
    expect(sandboxes.flatMap(({ servers }) => servers)).toHaveLength(30);
    for (const { status, servers } of sandboxes) {
      const stated = servers.filter((server) => server.status !== null);
      if (servers.length === 0) found.add(`no servers, ${status}`);
      else if (stated.length === 0) found.add(`servers without a status, ${status}`);
      else if (status === null) found.add("no status");
      else if (!stated.some((server) => server.status === status)) found.add(`apart, ${status}`);
    }
  }
  expect([...found].toSorted()).toEqual([
    "apart, error",
    "no servers, error",
    "no servers, idle",
    "no servers, occupied",
    "no status",
    "servers without a status, error",
    "servers without a status, idle",
    "servers without a status, occupied",
  ]);
});

test("sandboxes are replaced in time by new ones with new ids", () => {
  const idsAt = (hours: number) =>
    sandboxesOf({ servers: 400, utcMs: startMs + hours * hourMs }).map((s) => s.sandboxId);
  const before = new Set(idsAt(0));
  const kept = (hours: number) => idsAt(hours).filter((id) => before.has(id)).length;
  expect(kept(1)).toBeGreaterThan(before.size * 0.9);
  expect(kept(1)).toBeLessThan(before.size);
  expect(kept(100)).toBe(0);
});

test("more servers are occupied by day than by night, and on weekdays than at the weekend", () => {
  const target = { ...us, region: "eu" };
  const occupiedAt = (day: number, hour: number): number => {
    const utcMs = Date.UTC(2026, 10, day, hour - 1);
    const servers = serversOf({ target, utcMs, servers: 4_000 });
    return servers.filter(({ status }) => status === "occupied").length / servers.length;
  };
  const [noon, night, sunday] = [occupiedAt(18, 13), occupiedAt(18, 3), occupiedAt(22, 13)];
  expect([noon > 0.5, night < 0.3, sunday > night, sunday < 0.45]).not.toContain(false);
});

test("a change of status is an update, and none is undone", () => {
  const lookAt = (utcMs: number) =>
    new Map(serversOf({ servers: 150, utcMs }).map((server) => [server.serverId, server]));
  let before = lookAt(startMs);
  for (let utcMs = startMs; utcMs < startMs + 2 * hourMs; utcMs += 60_000) {
    const now = lookAt(utcMs);
    const wrong = [...now].filter(([id, { status, updatedAtMs }]) => {
      const earlier = before.get(id);
      if (!earlier) return false;
      const isNew = updatedAtMs > earlier.updatedAtMs;
      return updatedAtMs < earlier.updatedAtMs || (status !== earlier.status && !isNew);
    });
    expect(wrong).toEqual([]);
    before = now;
  }
});

test("where its tempo changes nothing jumps: the world goes on, faster or slower", () => {
  const slow = tempoOf(0.25);
  const tempo = tempoOf(0.25, startMs, 4);
  const at = (hours: number, pace: Tempo) => sandboxesOf({ utcMs: startMs + hours * hourMs, pace });
  for (const hours of [-1_000, -1, 0]) expect(at(hours, tempo)).toEqual(at(hours, slow));
  const idsAt = (hours: number, pace: Tempo) => at(hours, pace).map(({ sandboxId }) => sandboxId);
  expect(idsAt(3, tempo)).toEqual(idsAt(48, slow));
});

test("a world of pace zero stands still", () => {
  const now = sandboxesOf({ pace: 0 });
  expect(sandboxesOf({ pace: 0, utcMs: startMs + 1_000 * hourMs })).toEqual(now);
  expect(now).not.toEqual([]);
});
