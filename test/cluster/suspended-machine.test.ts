import { describe, expect, it } from "vitest";
import { openCluster } from "./support/open-cluster.ts";

// The monotonic clock stands still meanwhile, and that of the database goes on.
describe("the lease of a replica whose machine was suspended", () => {
  it("is renewed at once, and not held before", async () => {
    const { start, pass, clock } = openCluster();
    const one = await start("one");
    clock.stepUtc(900);
    expect(one.ownership.isHeld()).toBe(true);
    clock.stepUtc(200);
    expect(one.ownership.isHeld()).toBe(false);
    await pass(50);
    expect(one.ownership.isHeld()).toBe(true);
    expect(one.heard).toEqual(["gain"]);
    clock.stepUtc(20_000);
    expect(one.ownership.isHeld()).toBe(false);
    await pass(50);
    expect(one.heard).toEqual(["gain", "dropAll", "gain"]);
    expect(one.ownership.isHeld()).toBe(true);
  });

  it("is not held while the database does not answer", async () => {
    const { start, pass, clock } = openCluster();
    const one = await start("one");
    one.state.isAway = true;
    clock.stepUtc(2_000);
    for (let seconds = 0; seconds < 5; seconds += 1) {
      expect(one.ownership.isHeld()).toBe(false);
      await pass(1_000);
    }
    one.state.isAway = false;
    await pass(1_000);
    expect(one.ownership.isHeld()).toBe(true);
  });

  it("is still held when the wall clock is set back", async () => {
    const { start, clock } = openCluster();
    const one = await start("one");
    clock.stepUtc(-3_600_000);
    expect(one.ownership.isHeld()).toBe(true);
  });
});
