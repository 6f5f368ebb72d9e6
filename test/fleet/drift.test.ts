import * as fc from "fast-check";
import { expect, it } from "vitest";
import type { Deviation } from "../../src/fleet/deviation.ts";
import { createDriftRegistry, type DriftRecord, type Drift } from "../../src/fleet/drift.ts";

const problem = fc.constantFrom("unknown_field", "unknown_value", "missing", "wrong_type");
const deviation: fc.Arbitrary<Deviation> = fc.record({
  field: fc.constantFrom("status", "owner", "other", "(answer)", "__proto__"),
  problem,
  count: fc.integer({ min: 1, max: 9 }),
  example: fc.constantFrom('"resting"', '"asleep"', "text", null),
});
const drift: fc.Arbitrary<Drift> = fc.record({
  operation: fc.constantFrom("list_sandboxes", "get_user"),
  region: fc.constantFrom("us", "eu"),
  deviations: fc.array(deviation, { maxLength: 4 }),
});

const total = (records: readonly { readonly count: number }[]): number =>
  records.reduce((sum, { count }) => sum + count, 0);

it("counts all that it is given, and says each kind once, whatever restarts come in between", () => {
  fc.assert(
    fc.property(fc.array(fc.tuple(drift, fc.boolean()), { maxLength: 30 }), (drifts) => {
      let registry = createDriftRegistry([]);
      const said: string[] = [];
      for (const [at, [each, restarts]] of drifts.entries()) {
        said.push(...registry.add(each, at).map(nameOf));
        if (restarts) registry = createDriftRegistry(registry.records());
      }
      expect(total(registry.records())).toBe(total(drifts.flatMap(([each]) => each.deviations)));
      expect(new Set(said).size).toBe(said.length);
      expect(new Set(said)).toEqual(new Set(registry.records().map(nameOf)));
    }),
  );
});

function nameOf({ operation, field, problem: is, example }: DriftRecord): string {
  return JSON.stringify([operation, field, is, is === "unknown_value" ? example : null]);
}

it("gives what changed once, and again what could not be kept, so that what is kept is what is counted", () => {
  fc.assert(
    fc.property(fc.array(fc.tuple(drift, fc.boolean())), (drifts) => {
      const registry = createDriftRegistry([]);
      const kept = new Map<string, DriftRecord>();
      const keep = (isKept: boolean): void => {
        const changed = registry.takeChanged();
        expect(registry.hasChanged).toBe(false);
        if (!isKept) return registry.giveBack(changed);
        for (const each of changed) {
          const key = each.region + nameOf(each);
          kept.set(key, { ...each, count: (kept.get(key)?.count ?? 0) + each.count });
        }
      };
      for (const [at, [each, isKept]] of drifts.entries()) {
        registry.add(each, at);
        keep(isKept);
      }
      keep(true);
      expect(new Set(kept.values())).toEqual(new Set(registry.records()));
    }),
  );
});

const field = (name: string): Deviation => {
  return { field: name, problem: "unknown_field", count: 1, example: "number" };
};
const seen = (deviations: readonly Deviation[]): Drift => {
  return { operation: "list_sandboxes", region: "us", deviations };
};

it("distinguishes two hundred invented names and counts the others together, also after a restart", () => {
  const registry = createDriftRegistry([]);
  for (let at = 0; at < 10_000; at++) registry.add(seen([field(`f${at}`)]), at);
  for (let at = 0; at < 1_000; at++) {
    const what = { field: "status", problem: "unknown_value" } as const;
    const word = { ...what, count: 1, example: `"${at}"` };
    registry.add({ ...seen([word]), operation: "get_user" }, at);
  }
  const records = createDriftRegistry(registry.records()).records();
  expect(records).toHaveLength(402);
  expect(records.find((each) => each.field === "other")?.count).toBe(9_800);
  expect(records.find(({ example }) => example === "text")?.count).toBe(800);
});

it("forgets what was not met for long, takes as many new names, and says it again", () => {
  const registry = createDriftRegistry([]);
  for (let at = 0; at < 200; at++) registry.add(seen([field(`f${at}`)]), 0);
  registry.add(seen([field("f0")]), 10);
  registry.forget(10);
  expect(registry.records()).toMatchObject([
    { field: "f0", count: 2, firstSeenAtMs: 0, lastSeenAtMs: 10 },
  ]);
  const names = Array.from({ length: 199 }, (_, at) => `g${at}`);
  expect(registry.add(seen(names.map(field)), 11).map((each) => each.field)).toEqual(names);
  expect(registry.add(seen([field("f1")]), 12)).toMatchObject([{ field: "other" }]);
});

it("does not say again what another region has shown, and a wall clock stepped back changes no order", () => {
  const registry = createDriftRegistry([]);
  expect(registry.add(seen([field("gpu")]), 100)).toHaveLength(1);
  expect(registry.add({ ...seen([field("gpu")]), region: "eu" }, 200)).toEqual([]);
  registry.add(seen([field("gpu")]), 50);
  expect(registry.records()).toMatchObject([
    { region: "us", firstSeenAtMs: 100, lastSeenAtMs: 100, count: 2 },
    { region: "eu", firstSeenAtMs: 200, lastSeenAtMs: 200, count: 1 },
  ]);
});
