import { expect, it } from "vitest";
import { runChaos } from "../chaos/chaos.ts";
import { fencedKinds } from "../chaos/faults.ts";

/** `npm run chaos` does it 500 times, and also measures how long taking over takes. */
it("three replicas that are killed, frozen and cut off twenty times lose and double nothing", async ({
  signal,
}) => {
  const { problems, counts } = await runChaos({
    kills: 20,
    // With fourteen kinds of faults.
    seed: 1056,
    replicas: 3,
    isUnfenced: false,
    signal,
  });
  expect(problems).toEqual([]);
  expect(counts["incidents"]).toBeGreaterThan(10);
});

it("replicas without a fence that are suspended before they store an error store changes twice", async ({
  signal,
}) => {
  const { problems } = await runChaos({
    kills: 3,
    seed: 101,
    replicas: 3,
    kinds: fencedKinds,
    isUnfenced: true,
    signal,
  });
  expect(problems).toContainEqual(expect.stringMatching(/ changed from \w+ after /));
});
