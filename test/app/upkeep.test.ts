import { describe, expect, it } from "vitest";
import { createUpkeep, retentionChores } from "../../src/app/upkeep.ts";
import type { Config } from "../../src/config/config.ts";
import type { Chore } from "../../src/app/upkeep.ts";
import { captureLog } from "../support/capture-log.ts";
import { createFakeClock } from "../support/fake-clock.ts";
import { testConfig } from "../support/test-config.ts";

/** Has N steps each minute. */
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
  const { log, lines } = captureLog();
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
    log,
  });
  /** Resolves when it waits for its next turn. */
  const waits = async (): Promise<void> => {
    await waiting.promise;
    waiting = Promise.withResolvers();
  };
  return { clock, upkeep, lines, waits };
}

const broken = (): Promise<never> => Promise.reject(new Error("disk full"));

describe("upkeep", () => {
  it("does a little every minute, and not all that there is at once", async () => {
    const chore = createChore(1_000);
    const { upkeep, clock } = createKept(chore);
    await upkeep.runOnce();
    expect(chore.steps).toBe(200);
    clock.advance(59_999);
    await upkeep.runOnce();
    expect(chore.steps).toBe(200);
    clock.advance(1);
    await upkeep.runOnce();
    expect(chore.steps).toBe(400);
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

  it("says once what fails, does the rest meanwhile, and says it again after it was well", async () => {
    const chore = createChore();
    const failing: Chore = { what: "the old", step: broken };
    const { upkeep, clock, waits, lines } = createKept(failing, chore);
    const passMinute = async (): Promise<void> => {
      clock.advance(60_000);
      await waits();
    };
    upkeep.start();
    await waits();
    await passMinute();
    await passMinute();
    expect(lines).toMatchObject([
      { event: "upkeep.failed", msg: expect.stringMatching(/^the old failed;/) },
    ]);
    failing.step = () => Promise.resolve(false);
    await passMinute();
    failing.step = broken;
    await passMinute();
    expect(lines).toHaveLength(2);
    expect(chore.steps).toBe(4);
    await upkeep.stop();
  });
});

const dayMs = 86_400_000;
const nowMs = Date.UTC(2026, 10, 20);

/** What is pruned, and how many days before now. */
async function prunedBy(keep: Config["history"]): Promise<readonly unknown[]> {
  const pruned: unknown[] = [];
  const daysAgo = (ms: number): number => (nowMs - ms) / dayMs;
  const note = (what: string) => (beforeMs: number) => {
    pruned.push([what, daysAgo(beforeMs)]);
    return Promise.resolve(false);
  };
  const prune = {
    owedItems(beforeMs: number, configured: readonly string[]) {
      pruned.push(["owed", daysAgo(beforeMs), ...configured]);
      return Promise.resolve(false);
    },
    changes: note("changes"),
    gaps: note("gaps"),
    incidents: note("incidents"),
    silences: note("silences"),
    buckets: (resolution: string, beforeMs: number) => note(resolution)(beforeMs),
    notifications(before: { readonly deliveredBeforeMs: number; readonly deadBeforeMs: number }) {
      const { deliveredBeforeMs, deadBeforeMs } = before;
      pruned.push(["notifications", daysAgo(deliveredBeforeMs), daysAgo(deadBeforeMs)]);
      return Promise.resolve(false);
    },
  };
  const clock = { now: () => ({ utcMs: nowMs, monotonicMs: 0 }) };
  for (const chore of retentionChores({ prune }, keep, clock, ["oncall"])) await chore.step();
  return pruned;
}

it("everything is kept for as long as the configuration says, or as it is by default", async () => {
  const { history } = testConfig({
    regions: { us: { base_url: "https://us.example" } },
    keys: [{ name: "research", api_key: "a" }],
  });
  expect(await prunedBy(history)).toEqual([
    ["notifications", 30, 90],
    ["owed", 90, "oncall"],
    ["changes", 400],
    ["gaps", 400],
    ["incidents", 400],
    ["silences", 30],
    ["5m", 30],
    ["1h", 400],
  ]);
});
