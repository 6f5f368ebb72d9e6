import { describe, expect, it } from "vitest";
import { longestLeaseMs } from "../../src/fleet/replicas.ts";
import {
  countReplicas,
  ownersOf,
  planUnits,
  unitOfKey,
  unitsOf,
} from "../../src/cluster/assignment.ts";

const units = Array.from({ length: 256 }, (_, index) => `key:${index}`);
/** Ids as the store gives them. */
const replicas = ["2f0c9a7e", "8d31b6f4", "a95e0c12", "c7d8e4b3"].map((id) => ({
  id: `${id}-6b1f-4c7d-9e55-0a1b2c3d4e5f`,
}));

function countByOwner(owners: ReadonlyMap<string, string>): readonly number[] {
  return [...Map.groupBy(owners, ([, owner]) => owner).values()].map((own) => own.length);
}

describe("which replica owns which unit", () => {
  it("gives each of four replicas about a quarter of the keys", () => {
    const counts = countByOwner(ownersOf(units, replicas));
    expect(counts).toHaveLength(4);
    expect(Math.min(...counts)).toBeGreaterThan(45);
    expect(Math.max(...counts)).toBeLessThan(85);
  });

  it("moves only the units of a replica that goes, to each of the others", () => {
    const before = ownersOf(units, replicas);
    const [gone, ...others] = replicas;
    const after = ownersOf(units, others);
    const moved = units.filter((unit) => before.get(unit) !== after.get(unit));
    expect(moved).toEqual(units.filter((unit) => before.get(unit) === gone?.id));
    expect(new Set(moved.map((unit) => after.get(unit))).size).toBe(3);
  });

  it("depends neither on the order of the replicas nor on that of the units", () => {
    const owners = ownersOf(units.toReversed(), replicas.toReversed());
    expect(new Map([...owners].toReversed())).toEqual(ownersOf(units, replicas));
  });

  it("gives nothing to nobody", () => {
    expect(ownersOf(units, []).size).toBe(0);
  });

  it("spreads keys over the units, always in the same way", () => {
    expect(unitOfKey("research")).toBe("key:53");
    const keys = Array.from({ length: 10_000 }, (_, index) => `team-${index}`);
    const counts = [...Map.groupBy(keys, unitOfKey).values()].map((own) => own.length);
    expect(counts).toHaveLength(256);
    expect(Math.max(...counts)).toBeLessThan(80);
  });

  it("makes the units of a configuration, with one for several keys that share it", () => {
    const shared = Array.from({ length: 1_000 }, (_, index) => `k${index}`);
    const other = shared.find((key) => key !== "k0" && unitOfKey(key) === unitOfKey("k0"));
    const names = { receivers: ["oncall"], regions: ["us"], pools: ["[]"] };
    expect(unitsOf({ ...names, keys: ["k0", other ?? ""] })).toEqual([
      unitOfKey("k0"),
      "receiver:oncall",
      "region:us",
      "pool:[]",
      "upkeep",
    ]);
  });

  it("plans nothing for a replica that is older than a live one, and ignores those that have expired or are stopping", () => {
    const replica = (id: string, generation: number, expiresAtMs: number, takesUnits = true) => ({
      id,
      generation,
      takesUnits,
      expiresAtMs,
      startedAtMs: 0,
      address: `https://${id}`,
      version: "1.0.0",
      configuration: String(generation),
    });
    const view = {
      nowMs: 1_000,
      replicas: [
        replica("a", 1, 2_000),
        replica("b", 2, 2_000),
        replica("c", 3, 1_000),
        // By a clock that was ahead of this one.
        replica("d", 3, 1_001 + longestLeaseMs),
        // It is stopping.
        replica("e", 2, 2_000, false),
      ],
      units: [
        { name: "key:0", replica: "a", sinceMs: 0 },
        { name: "key:1", replica: "c", sinceMs: 0 },
        { name: "key:2", replica: "d", sinceMs: 0 },
        { name: "key:3", replica: "e", sinceMs: 0 },
      ],
    };
    expect(countReplicas(view)).toEqual({ current: 2, older: 1 });
    const some = units.slice(0, 4);
    expect(planUnits(view, "a", some, new Set(["key:0"]))).toEqual({
      claim: [],
      giveUp: [],
      isOlder: true,
    });
    expect(planUnits(view, "b", some, new Set())).toEqual({
      claim: ["key:1", "key:2"],
      giveUp: [],
      isOlder: false,
    });
  });
});
