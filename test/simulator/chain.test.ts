import * as fc from "fast-check";
import { expect, test } from "vitest";
import { chainStateAt, type ChainStatus } from "../../src/simulator/chain.ts";
import { mix } from "../../src/simulator/hash.ts";
import { changing, steady } from "../../src/simulator/tempo.ts";

const hourMs = 3_600_000;
const usually = steady(1);
const bornMs = Date.UTC(2026, 10, 1);

function subjectOf(seed: number, born = bornMs) {
  return {
    seed: mix(seed, 1),
    sandboxSeed: mix(seed, 2),
    nameSeed: mix(seed % 75, 3),
    bornMs: born,
    offsetHours: 0,
  };
}

/** Shares of the statuses over many servers at one moment. */
function sharesAt(utcMs: number): Record<ChainStatus, number> {
  const subjects = 4_000;
  const shares = { idle: 0, occupied: 0, error: 0 };
  for (let seed = 0; seed < subjects; seed++) {
    shares[chainStateAt(subjectOf(seed), utcMs, usually).status] += 1 / subjects;
  }
  return shares;
}

test("more servers are occupied by day than by night, and on weekdays than at the weekend", () => {
  const wednesdayNoon = sharesAt(Date.UTC(2026, 10, 18, 13));
  const wednesdayNight = sharesAt(Date.UTC(2026, 10, 18, 3));
  const sundayNoon = sharesAt(Date.UTC(2026, 10, 22, 13));
  expect(wednesdayNoon.occupied).toBeGreaterThan(0.5);
  expect(wednesdayNight.occupied).toBeLessThan(0.3);
  expect(sundayNoon.occupied).toBeLessThan(0.45);
  expect(sundayNoon.occupied).toBeGreaterThan(wednesdayNight.occupied);
});

test("in the long run about one or two servers of a hundred are in error", () => {
  const hours = Array.from({ length: 24 }, (_, hour) =>
    sharesAt(bornMs + (72 + 7 * hour) * hourMs),
  );
  const error = hours.reduce((sum, shares) => sum + shares.error, 0) / hours.length;
  expect(error).toBeGreaterThan(0.008);
  expect(error).toBeLessThan(0.03);
});

test("a state began when it says, with another one before it", () => {
  const law = fc.property(
    fc.nat(),
    fc.integer({ min: 0, max: 40 * hourMs }),
    fc.constantFrom(
      ...[0.25, 0.5, 1, 3, 1_000].map(steady),
      changing(0.25, bornMs * 4 + 20 * hourMs, 4),
      changing(4, bornMs / 4 + 20 * hourMs, 0.25),
    ),
    (seed, ageMs, tempo) => {
      const subject = subjectOf(seed);
      const bornUtcMs = tempo.utcMs(bornMs);
      const state = chainStateAt(subject, bornUtcMs + ageMs, tempo);
      expect(state.sinceMs).toBeGreaterThanOrEqual(bornUtcMs);
      expect(state.sinceMs).toBeLessThanOrEqual(bornUtcMs + ageMs);
      expect(chainStateAt(subject, state.sinceMs, tempo)).toEqual(state);
      if (state.sinceMs === bornUtcMs) return;
      expect(chainStateAt(subject, state.sinceMs - 1, tempo).status).not.toBe(state.status);
    },
  );
  fc.assert(law, { numRuns: 500 });
});

test("stays last minutes, and a pace of four makes them four times shorter", () => {
  const changesInAnHour = (pace: number): number => {
    let changes = 0;
    for (let seed = 0; seed < 60; seed++) {
      const tempo = steady(pace);
      const subject = subjectOf(seed, tempo.worldMs(bornMs));
      let sinceMs = bornMs + 36 * hourMs;
      const fromMs = sinceMs - hourMs;
      while (sinceMs > fromMs) {
        sinceMs = chainStateAt(subject, sinceMs - 1, tempo).sinceMs;
        if (sinceMs > fromMs) changes++;
      }
    }
    return changes / 60;
  };
  const usual = changesInAnHour(1);
  expect(usual).toBeGreaterThan(8);
  expect(usual).toBeLessThan(20);
  expect(changesInAnHour(4) / usual).toBeGreaterThan(3);
  expect(changesInAnHour(4) / usual).toBeLessThan(5);
});

test("now and then all servers of a sandbox are in error together", () => {
  let together = 0;
  for (let sandbox = 0; sandbox < 6_000; sandbox++) {
    const states = [1, 2, 3, 4].map((server) => {
      const subject = { ...subjectOf(server * 10_000 + sandbox), sandboxSeed: mix(sandbox, 9) };
      return chainStateAt(subject, bornMs + 51 * hourMs, usually).status;
    });
    if (states.every((status) => status === "error")) together++;
  }
  // Independent servers would do so once in ten million times.
  expect(together).toBeGreaterThanOrEqual(2);
});

test("now and then most servers of one name are in error together", () => {
  let struck = 0;
  for (let name = 0; name < 3_000; name++) {
    let errors = 0;
    for (let server = 0; server < 10; server++) {
      const subject = { ...subjectOf(server * 10_000 + name), nameSeed: mix(name, 9) };
      if (chainStateAt(subject, bornMs + 51 * hourMs, usually).status === "error") errors++;
    }
    if (errors >= 4) struck++;
  }
  expect(struck).toBeGreaterThanOrEqual(1);
});
