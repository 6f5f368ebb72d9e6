import type { Parameters } from "fast-check";

/** By how much `SANDWATCH_RANDOM_CASES` multiplies the random cases of the tests that say so in their titles. */
const factor = Number(process.env["SANDWATCH_RANDOM_CASES"] ?? 1);

/** The number of random cases: the given one, or a multiple of it. */
export function randomCases(usual: number): number {
  return usual * factor;
}

/** The same cases each time; a larger number of them begins with the same. */
export function fixedCases<T>(usual: number): Parameters<T> {
  return { numRuns: randomCases(usual), seed: 20_261_126 };
}
