import { expect, it } from "vitest";
import { seededRandom } from "../../src/lib/random.ts";

function draw(seed: number, count: number): readonly number[] {
  const random = seededRandom(seed);
  return Array.from({ length: count }, () => random());
}

// Recorded worlds replay only if these do not change.
it("seeded random numbers are those of mulberry32", () => {
  expect(draw(1, 3).map((number) => Math.floor(number * 2 ** 32))).toEqual([
    2_693_262_067, 11_749_833, 2_265_367_787,
  ]);
});

it("seeded random numbers spread evenly from 0 to below 1", () => {
  const counts = Array.from({ length: 10 }, () => 0);
  for (const number of draw(42, 10_000)) {
    const bin = Math.floor(number * 10);
    counts[bin] = (counts[bin] ?? 0) + 1;
  }
  const chiSquare = counts.reduce((sum, count) => sum + (count - 1_000) ** 2 / 1_000, 0);
  expect(counts).toHaveLength(10);
  expect(chiSquare).toBeLessThan(27.9);
});
