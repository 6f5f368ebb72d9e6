import { setImmediate } from "node:timers/promises";
import { expect, it } from "vitest";
import { noSuppressions } from "../../src/alerts/silence.ts";
import { poolScopes } from "../../src/alerts/pool.ts";
import { unitOfKey } from "../../src/cluster/assignment.ts";
import { createFleetView } from "../../src/app/fleet-view.ts";
import { createWatchedUnits } from "../../src/app/watched-units.ts";
import { createRetryBudget } from "../../src/lib/retry.ts";
import { Secret } from "../../src/lib/secret.ts";
import { createKeyLimits } from "../../src/polling/key-limits.ts";
import { createPoolWatch } from "../../src/polling/pool-watch.ts";
import { createRegionWatch } from "../../src/polling/region-watch.ts";
import { createStore } from "../../src/store/store.ts";
import { poolRule } from "../polling/support/watch-pools.ts";
import { captureLog } from "../support/capture-log.ts";
import { createFakeClock } from "../support/fake-clock.ts";
import { judgeBy, startMs } from "../support/fleet.ts";
import { openFresh } from "../support/fresh-store.ts";
import { testConfig } from "../support/test-config.ts";

function openUnits() {
  const config = testConfig({
    regions: { eu: { base_url: "https://eu.example.com" } },
    keys: [{ name: "alpha", api_key: "sk-1" }],
  });
  const { kysely, close } = openFresh();
  const store = createStore(kysely, close);
  const clock = createFakeClock(startMs);
  const { log } = captureLog();
  const rule = poolRule({ by: ["region"] });
  const common = {
    judge: judgeBy([rule]),
    suppressions: { at: () => noSuppressions, reload: async () => {} },
    notifier: { wake() {} },
    intervalMs: 30_000,
    isHeld: () => true,
    clock,
    log,
  };
  const fleet = createFleetView(null);
  const scopes = poolScopes([rule], [{ region: "eu", key: "alpha" }]);
  const gained: string[] = [];
  const regions = createRegionWatch({ ...common, targets: [], store: store.regions });
  const poolWatch = createPoolWatch({ ...common, scopes, fleet, store });
  const preparing = Promise.withResolvers<void>();
  const ending = Promise.withResolvers<void>();
  const limits = createKeyLimits(clock, config.poll.rateLimit);
  const lease = { isHeld: true };
  const isHeld = () => lease.isHeld;
  const running = { limits, clock, random: () => 0, watchdog: { noteRun() {} }, store, isHeld };
  const watched = createWatchedUnits({
    ...common,
    config,
    store,
    fleet,
    apiKeys: new Map([["alpha", new Secret("sk-1")]]),
    service: {
      listSandboxes: () => Promise.reject(new Error("nothing is polled")),
      look: () => Promise.reject(new Error("nothing is polled")),
    },
    recordDrift() {},
    metrics: { polled() {}, committed() {}, lost() {} },
    running: { ...running, ticking: { clock, log } },
    budget: createRetryBudget(1),
    regions: {
      ...regions,
      gain: async (names) => void gained.push(...names),
    },
    poolWatch: {
      ...poolWatch,
      gain: async (names) => void gained.push(...names),
    },
    poolsApart: scopes,
    onFenced() {},
    delivery: {
      gain: (names) => void gained.push(...names),
      giveUp: async () => {},
      drop: () => ending.promise,
    },
    upkeep: { prepare: () => preparing.promise, begin() {}, end: async () => {} },
    watchdog: { watch() {}, unwatch() {} },
  });
  const units = ["region:eu", ...scopes.map(({ name }) => `pool:${name}`), "upkeep"];
  return { work: watched.work, watched, units, gained, preparing, ending, lease };
}

it("nothing of what is dropped while it is being gained is taken up", async () => {
  const { work, units, gained, preparing } = openUnits();
  const gaining = work.gain(units);
  void work.dropAll();
  preparing.resolve();
  await gaining;
  expect(gained).toEqual([]);
});

it("what is gained is taken up", async () => {
  const { work, units, gained, preparing } = openUnits();
  preparing.resolve();
  await work.gain(units);
  expect(gained).toEqual(["eu", "pool-full/eu/*"]);
});

it("what was dropped has ended only when nothing is in progress", async () => {
  const { work, ending } = openUnits();
  let hasEnded = false;
  const dropped = work.dropAll().then(() => (hasEnded = true));
  await setImmediate();
  expect(hasEnded).toBe(false);
  ending.resolve();
  await dropped;
  expect(hasEnded).toBe(true);
});

it("a target that is not polled here at present is neither polled at once nor called, which is said", async () => {
  const { work, watched, lease } = openUnits();
  const target = { region: "eu", key: "alpha" };
  const keys = [unitOfKey(target.key)];
  const isMoving = "eu/alpha is moving to another replica";
  const assertOwned = () => watched.assertOwned(target);
  await expect(watched.pollNow(target)).rejects.toThrow(isMoving);
  expect(assertOwned).toThrow(isMoving);
  await work.gain(keys);
  assertOwned();
  lease.isHeld = false;
  expect(assertOwned).toThrow(isMoving);
  lease.isHeld = true;
  await work.giveUp(keys);
  expect(assertOwned).toThrow(isMoving);
});
