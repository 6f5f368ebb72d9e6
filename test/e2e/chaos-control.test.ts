import { expect, it } from "vitest";
import { runChaos } from "../chaos/chaos.ts";
import { fencedKinds } from "../chaos/faults.ts";

it("processes without a fence that are suspended before they store an error are both active, and store changes twice", async ({
  signal,
}) => {
  const { problems, faults } = await runChaos({
    kills: 3,
    seed: 101,
    kinds: fencedKinds,
    isUnfenced: true,
    signal,
  });
  expect(faults.get("suspend before commit")).toBeGreaterThan(0);
  expect(problems).toContainEqual(expect.stringMatching(/ and .* are active at /));
  expect(problems).toContainEqual(expect.stringMatching(/ changed from \w+ after /));
});
