import { expect, it } from "vitest";
import { createUpkeep, retentionChores } from "../../src/app/upkeep.ts";
import type { Chore } from "../../src/app/upkeep.ts";
import { captureLog } from "../support/capture-log.ts";
import { createFakeClock } from "../support/fake-clock.ts";
import { createWatchedClock } from "../simulator/start-simulator.ts";
import { testConfig } from "../support/test-config.ts";

/** A chore with N steps each minute. */
function createChore(stepsEachRun = 1) {
  const chore = {
    what: "the old",
    steps: 0,
    step: () => Promise.resolve(++chore.steps % stepsEachRun > 0),
  };
  return chore;
}

it("upkeep does a little every minute, and not all that there is at once", async () => {
  const chore = createChore(1_000);
  const clock = createFakeClock();
  const upkeep = createUpkeep({ clock, log: captureLog().log });
  upkeep.add([chore]);
  const steps: number[] = [];
  for (const ms of [0, 59_999, 1]) {
    clock.advance(ms);
    await upkeep.runOnce();
    steps.push(chore.steps);
  }
  expect(steps).toEqual([200, 200, 400]);
});

it("upkeep goes on by itself, says once what fails, and again after it was well, and does the rest", async () => {
  const chore = createChore(2);
  const broken = (): Promise<never> => Promise.reject(new Error("disk full"));
  const failing: Chore = { what: "the other", step: broken };
  const clock = createWatchedClock();
  const { log, lines } = captureLog();
  const upkeep = createUpkeep({ clock, log });
  upkeep.add([failing, chore]);
  const passMinute = async (): Promise<void> => {
    clock.advance(60_000);
    await clock.timerArmed();
  };
  upkeep.start();
  await clock.timerArmed();
  await passMinute();
  await passMinute();
  const failed = { event: "upkeep.failed", msg: expect.stringMatching(/^the other failed;/) };
  expect(lines).toMatchObject([failed]);
  failing.step = () => Promise.resolve(false);
  await passMinute();
  failing.step = broken;
  await passMinute();
  expect(lines).toMatchObject([failed, failed]);
  await upkeep.stop();
  expect([chore.steps, clock.armed]).toEqual([8, 0]);
});

it("what is old is deleted step by step until nothing is left of it, and looked for again an hour later", async () => {
  const clock = createFakeClock();
  let left = 250;
  const silences = () => Promise.resolve((left -= 1) > 0);
  const nothing = () => Promise.resolve(false);
  const prune = {
    owedItems: nothing,
    changes: nothing,
    gaps: nothing,
    incidents: nothing,
    rollups: nothing,
    notifications: nothing,
    silences,
  };
  const keep = { changes: null, rollups: { "15m": null, "1h": null, "1d": null }, zones: [] };
  const upkeep = createUpkeep({ clock, log: captureLog().log });
  upkeep.add(retentionChores({ prune }, keep, clock, []));
  const found: number[] = [];
  for (const minutes of [0, 1, 1, 58, 1]) {
    clock.advance(minutes * 60_000);
    await upkeep.runOnce();
    found.push(left);
  }
  expect(found).toEqual([50, 0, 0, 0, -1]);
});

it("everything is kept for as long as the configuration says, or as it is by default", async () => {
  const { history } = testConfig({
    regions: { us: { base_url: "https://us.example" } },
    keys: [{ name: "research", api_key: "a" }],
  });
  const nowMs = Date.UTC(2026, 10, 20);
  const daysAgo = (ms: number): number => (nowMs - ms) / 86_400_000;
  const pruned: unknown[] = [];
  const note = (...what: readonly unknown[]) => {
    pruned.push(what.map((each) => (typeof each === "number" ? daysAgo(each) : each)));
    return Promise.resolve(false);
  };
  const prune = {
    owedItems: (beforeMs: number, receivers: readonly string[]) =>
      note("owed", beforeMs, receivers),
    changes: (beforeMs: number) => note("changes", beforeMs),
    gaps: (beforeMs: number) => note("gaps", beforeMs),
    incidents: (beforeMs: number) => note("incidents", beforeMs),
    silences: (beforeMs: number) => note("silences", beforeMs),
    rollups: (resolution: string, beforeMs: number) => note(resolution, beforeMs),
    notifications: (before: {
      readonly deliveredBeforeMs: number;
      readonly deadBeforeMs: number;
    }) => note("notifications", before.deliveredBeforeMs, before.deadBeforeMs),
  };
  const clock = { now: () => ({ utcMs: nowMs, monotonicMs: 0 }) };
  for (const chore of retentionChores({ prune }, history, clock, ["oncall"])) await chore.step();
  expect(pruned).toEqual([
    ["notifications", 30, 90],
    ["owed", 90, ["oncall"]],
    ["changes", 400],
    ["gaps", 400],
    ["incidents", 400],
    ["silences", 30],
    ["15m", 400],
    ["1h", 400],
  ]);
});
