import { expect, it } from "vitest";
import { runChaos } from "../chaos/chaos.ts";
import { fencedKinds } from "../chaos/faults.ts";

it("replicas without a fence that are suspended before they store an error store changes twice", async ({
  signal,
}) => {
  const { problems, faults } = await runChaos({
    kills: 4,
    seed: 101,
    replicas: 3,
    kinds: fencedKinds,
    isUnfenced: true,
    signal,
  });
  expect(faults.get("suspend before commit")).toBeGreaterThan(0);
  expect(problems).toContainEqual(expect.stringMatching(/ changed from \w+ after /));
});
