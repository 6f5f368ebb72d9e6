import { describe, expect, it } from "vitest";
import { createUpkeep } from "../../src/delivery/upkeep.ts";
import type { Upkeep, UpkeepDeps } from "../../src/delivery/upkeep.ts";
import { silentLog } from "../../src/delivery/observer.ts";
import { createFakeClock } from "../support/fake-clock.ts";
import { judging } from "./support/delivery.ts";
import { startMs } from "./support/items.ts";

const dayMs = 86_400_000;

/** Upkeep of a store that has so many steps to prune each minute. */
function createKept(steps: number, more: Partial<UpkeepDeps> = {}) {
  const clock = createFakeClock();
  const pruned: object[] = [];
  let left = 0;
  let reviews = 0;
  let waiting = Promise.withResolvers<void>();
  const upkeep: Upkeep = createUpkeep({
    store: {
      untargeted: {
        judgeReceivers() {
          reviews += 1;
          left = steps;
          return Promise.resolve([]);
        },
      },
      pruneNotifications(bounds) {
        pruned.push(bounds);
        left -= 1;
        return Promise.resolve(left > 0);
      },
    },
    clock: {
      now: () => clock.now(),
      setTimer(delayMs, callback) {
        waiting.resolve();
        return clock.setTimer(delayMs, callback);
      },
    },
    judge: judging("oncall"),
    log: silentLog,
    onJudged: () => {},
    ...more,
  });
  return {
    clock,
    upkeep,
    pruned,
    reviews: () => reviews,
    /** Resolves when it waits for its next turn. */
    async waits() {
      await waiting.promise;
      waiting = Promise.withResolvers();
    },
  };
}

describe("upkeep", () => {
  it("keeps delivered notifications for 30 days and dead ones for 90", async () => {
    const { upkeep, pruned } = createKept(1);
    await upkeep.runOnce();
    expect(pruned).toEqual([
      { deliveredBeforeMs: startMs - 30 * dayMs, deadBeforeMs: startMs - 90 * dayMs },
    ]);
  });

  it("prunes a little every minute, and not all that there is at once", async () => {
    const { upkeep, pruned, clock } = createKept(1_000);
    await upkeep.runOnce();
    expect(pruned).toHaveLength(20);
    clock.advance(59_999);
    await upkeep.runOnce();
    expect(pruned).toHaveLength(20);
    clock.advance(1);
    await upkeep.runOnce();
    expect(pruned).toHaveLength(40);
  });

  it("goes on by itself once started, and leaves no timer when stopped", async () => {
    const kept = createKept(2);
    kept.upkeep.start();
    await kept.waits();
    kept.clock.advance(60_000);
    await kept.waits();
    await kept.upkeep.stop();
    expect(kept.reviews()).toBe(2);
    expect(kept.pruned).toHaveLength(4);
    expect(kept.clock.armed).toBe(0);
  });

  it("goes on after a store that failed, and says so", async () => {
    const logged: unknown[] = [];
    const said = Promise.withResolvers<void>();
    const { upkeep, clock } = createKept(1, {
      store: {
        untargeted: { judgeReceivers: () => Promise.reject(new Error("disk full")) },
        pruneNotifications: () => Promise.resolve(false),
      },
      log: {
        ...silentLog,
        error(fields) {
          logged.push(fields["event"]);
          said.resolve();
        },
      },
    });
    upkeep.start();
    await said.promise;
    await upkeep.stop();
    expect(logged).toEqual(["delivery.upkeep_failed"]);
    expect(clock.armed).toBe(0);
  });
});
