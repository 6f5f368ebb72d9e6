import { describe, expect, it } from "vitest";
import { createUpkeep } from "../../src/app/upkeep.ts";
import type { Chore } from "../../src/app/upkeep.ts";
import { createFakeClock } from "../support/fake-clock.ts";

/** Has so many steps each minute. */
function createChore(stepsEachTurn = 1) {
  let left = stepsEachTurn;
  const chore = {
    what: "the old",
    steps: 0,
    step() {
      chore.steps += 1;
      left -= 1;
      const isMore = left > 0;
      if (!isMore) left = stepsEachTurn;
      return Promise.resolve(isMore);
    },
  };
  return chore;
}

function createKept(...chores: readonly Chore[]) {
  const clock = createFakeClock();
  const said: string[] = [];
  let waiting = Promise.withResolvers<void>();
  const upkeep = createUpkeep({
    chores,
    clock: {
      now: () => clock.now(),
      setTimer(delayMs, callback) {
        waiting.resolve();
        return clock.setTimer(delayMs, callback);
      },
    },
    log: { error: (fields, message) => said.push(`${fields["event"]}: ${message}`) },
  });
  /** Resolves when it waits for its next turn. */
  const waits = async (): Promise<void> => {
    await waiting.promise;
    waiting = Promise.withResolvers();
  };
  return { clock, upkeep, said, waits };
}

const broken = (): Promise<never> => Promise.reject(new Error("disk full"));

describe("upkeep", () => {
  it("does a little every minute, and not all that there is at once", async () => {
    const chore = createChore(1_000);
    const { upkeep, clock } = createKept(chore);
    await upkeep.runOnce();
    expect(chore.steps).toBe(20);
    clock.advance(59_999);
    await upkeep.runOnce();
    expect(chore.steps).toBe(20);
    clock.advance(1);
    await upkeep.runOnce();
    expect(chore.steps).toBe(40);
  });

  it("goes on by itself once started, and leaves no timer when stopped", async () => {
    const chore = createChore(2);
    const { upkeep, clock, waits } = createKept(chore);
    upkeep.start();
    await waits();
    clock.advance(60_000);
    await waits();
    clock.advance(60_000);
    await waits();
    await upkeep.stop();
    expect(chore.steps).toBe(4);
    expect(clock.armed).toBe(0);
  });

  it("leaves the first minute to what a start is waited for with, but for what is due then", async () => {
    const chore = createChore();
    const due = Object.assign(createChore(), { isDueAtStart: true });
    const { upkeep, clock, waits } = createKept(chore, due);
    upkeep.start();
    await waits();
    clock.advance(59_999);
    await upkeep.stop();
    expect([chore.steps, due.steps]).toEqual([0, 1]);
    expect(clock.armed).toBe(0);
  });

  it("says once what fails, does the rest meanwhile, and says it again after it was well", async () => {
    const chore = createChore();
    const failing: Chore = { what: "the old", step: broken };
    const { upkeep, clock, waits, said } = createKept(failing, chore);
    const passMinute = async (): Promise<void> => {
      clock.advance(60_000);
      await waits();
    };
    upkeep.start();
    await waits();
    await passMinute();
    await passMinute();
    expect(said).toEqual([expect.stringMatching(/^upkeep\.failed: the old failed;/)]);
    failing.step = () => Promise.resolve(false);
    await passMinute();
    failing.step = broken;
    await passMinute();
    expect(said).toHaveLength(2);
    expect(chore.steps).toBe(4);
    await upkeep.stop();
  });

  it("rejects with what failed when it is asked to run once, after all else was done", async () => {
    const chore = createChore();
    const { upkeep } = createKept({ what: "the old", step: broken }, chore);
    await expect(upkeep.runOnce()).rejects.toThrow("disk full");
    expect(chore.steps).toBe(1);
  });
});
