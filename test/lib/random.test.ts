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
