import { expect, it } from "vitest";
import { runChaos } from "../chaos/chaos.ts";

/** `npm run chaos` does it 500 times, and also measures how long taking over takes. */
it("an active process and its standby that are killed, frozen, delayed and cut off twenty times lose and double nothing, and never both act", async ({
  signal,
}) => {
  const { problems, counts, faults } = await runChaos({
    kills: 20,
    // With all kinds of faults.
    seed: 1162,
    isUnfenced: false,
    signal,
  });
  expect(problems).toEqual([]);
  expect(counts["incidents"]).toBeGreaterThan(10);
  expect(counts["terms"]).toBeGreaterThan(5);
  expect(faults.size).toBeGreaterThan(11);
  expect(counts["missed"]).toBeLessThan(4);
});
