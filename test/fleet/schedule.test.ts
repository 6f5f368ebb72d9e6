import { describe, expect, it } from "vitest";
import { phaseOf } from "../../src/fleet/schedule.ts";

describe("a target's phase", () => {
  // A golden value that changes means that every target's turn moves at the next update.
  it.each([
    ["", 0.6689221884589642],
    ["us/research", 0.56389080430381],
    ["eu/research", 0.6202493223827332],
    ["us/ops", 0.8475225744768977],
  ])("of %j never changes", (name, phase) => {
    expect(phaseOf(name)).toBeCloseTo(phase, 9);
  });

  it("spreads a thousand names evenly, however alike they are", () => {
    const bins = 20;
    const names = Array.from({ length: 1_000 }, (_, index) => `us/key-${index}`);
    const counts = Array.from({ length: bins }, () => 0);
    for (const name of names) {
      const bin = Math.floor(phaseOf(name) * bins);
      counts[bin] = (counts[bin] ?? 0) + 1;
    }
    const expected = names.length / bins;
    const chiSquare = counts.reduce((sum, count) => sum + (count - expected) ** 2 / expected, 0);
    // 19 degrees of freedom: an even spread stays below this in 999 of 1000 cases.
    expect(chiSquare).toBeLessThan(43.8);
    expect(new Set(names.map(phaseOf)).size).toBe(names.length);
  });
});
