import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { seededRandom } from "../../src/lib/random.ts";

function draw(seed: number, count: number): readonly number[] {
  const random = seededRandom(seed);
  return Array.from({ length: count }, () => random());
}

describe("seeded random numbers", () => {
  it("are from 0 to below 1, and the same for the same seed", () => {
    fc.assert(
      fc.property(fc.integer(), (seed) => {
        const numbers = draw(seed, 50);
        expect(numbers.every((number) => number >= 0 && number < 1)).toBe(true);
        expect(draw(seed, 50)).toEqual(numbers);
      }),
    );
  });

  // Recorded worlds replay only as long as these stay.
  it("are those of mulberry32", () => {
    expect(draw(1, 3).map((number) => Math.floor(number * 2 ** 32))).toEqual([
      2_693_262_067, 11_749_833, 2_265_367_787,
    ]);
  });

  it("differ between seeds, also between neighbours", () => {
    const starts = Array.from({ length: 1_000 }, (_, seed) => draw(seed, 2).join());
    expect(new Set(starts).size).toBe(starts.length);
  });

  it("spread evenly", () => {
    const counts = Array.from({ length: 10 }, () => 0);
    for (const number of draw(42, 10_000)) {
      const bin = Math.floor(number * 10);
      counts[bin] = (counts[bin] ?? 0) + 1;
    }
    const chiSquare = counts.reduce((sum, count) => sum + (count - 1_000) ** 2 / 1_000, 0);
    expect(chiSquare).toBeLessThan(27.9);
  });
});
