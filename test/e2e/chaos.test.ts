import { expect, it } from "vitest";
import { runChaos } from "../chaos/chaos.ts";

/** `npm run chaos` does it 500 times, and also measures how long taking over takes. */
it("three replicas that are killed, frozen and cut off twenty times lose and double nothing", async ({
  signal,
}) => {
  const { problems, counts, faults } = await runChaos({
    kills: 20,
    // With fourteen kinds of faults.
    seed: 1056,
    replicas: 3,
    isUnfenced: false,
    signal,
  });
  expect(problems).toEqual([]);
  expect(counts["incidents"]).toBeGreaterThan(10);
  expect(faults.size).toBeGreaterThan(11);
  expect(counts["missed"]).toBeLessThan(4);
});
