import { describe, expect, it } from "vitest";
import { poolScopes } from "../../src/alerts/pool.ts";
import { noSuppressions } from "../../src/alerts/silence.ts";
import { poolsAcrossKeys } from "../../src/config/configured-targets.ts";
import type { Target } from "../../src/fleet/model.ts";
import { createPoolWatch } from "../../src/polling/pool-watch.ts";
import { watchPools } from "../../src/polling/watched-pools.ts";
import { watchTarget } from "../../src/polling/watched-target.ts";
import { createStore } from "../../src/store/store.ts";
import { captureLog } from "../support/capture-log.ts";
import { createFakeClock } from "../support/fake-clock.ts";
import { judgeBy, listing, startMs, watchFleet } from "../support/fleet.ts";
import { openFresh } from "../support/fresh-store.ts";
import { poolRule } from "./support/watch-pools.ts";

const one: Target = { region: "us", key: "one" };
const other: Target = { region: "us", key: "other" };
const abroad: Target = { region: "eu", key: "one" };

const keys = [
  { name: "one", regions: ["us", "eu"] },
  { name: "other", regions: ["us"] },
];

it.each([
  [
    ["region", "server_name"],
    ["pool-full/us/*", "pool-full/eu/*"],
  ],
  [["region", "key"], []],
  [["key"], []],
  [[], ["pool-full/*/*"]],
] as const)("pools by %j are judged apart from polls as %j, also those of one key", (by, names) => {
  const alerts = { rules: [poolRule({ by })] };
  expect(poolsAcrossKeys({ keys, alerts }).map(({ name }) => name)).toEqual(names);
});

it("pools that are judged apart are not judged with polls", () => {
  const pools = watchPools({
    rules: [poolRule({ by: ["region"] })],
    targets: [one, other, abroad],
    openIncidents: [],
    clocks: [],
    except: new Set(["pool-full/us/*"]),
  });
  expect([one, other, abroad].map(pools.scopesOf)).toEqual([[], [], ["pool-full/eu/*"]]);
});

describe("a replica that owns pools of several keys", () => {
  const rule = poolRule({ by: ["region"], forMs: 60_000 });
  const scopes = poolScopes([rule], [one, other]);
  const names = scopes.map(({ name }) => name);

  function openWorld() {
    const { kysely, close } = openFresh();
    const store = createStore(kysely, close);
    const clock = createFakeClock(startMs);
    const judge = judgeBy([rule]);
    const fleets = [one, other].map((target) => watchFleet(target, { judge }));
    const { log, lines } = captureLog();
    const state = { isHeld: true, canCommit: true, commits: 0 };
    const open = (targets = fleets.map(({ watched }) => watched)) =>
      createPoolWatch({
        scopes,
        fleet: { all: { targets }, refresh: async () => {} },
        store: {
          ...store,
          async commitPools(scope, outcome) {
            if (!state.canCommit) throw new Error("the store is away");
            state.commits += 1;
            await store.commitPools(scope, outcome);
          },
        },
        judge,
        suppressions: { at: () => noSuppressions, reload: async () => {} },
        notifier: { wake() {} },
        isHeld: () => state.isHeld,
        intervalMs: 30_000,
        clock,
        log,
      });
    return {
      store,
      clock,
      log: lines,
      state,
      open,
      /** Half a minute later both were polled. */
      async poll(
        watch: ReturnType<typeof open>,
        ...shown: (Parameters<(typeof fleets)[0]["poll"]>[0] | null)[]
      ) {
        clock.advance(30_000);
        for (const [at, each] of shown.entries()) if (each) fleets[at]?.poll(each);
        await watch.runOnce();
      },
      /** The second one moves: its next poll does not know what was before it. */
      move: () => fleets[1]?.watched.noteGap(),
      /** As another replica restores them. */
      restored: () =>
        fleets.map(({ watched: { id, target, state: polled } }) => {
          const { progress, snapshot, buckets } = polled;
          const stored = { id, target, progress, buckets, openIncidents: [], flaps: [] };
          const nowUtcMs = clock.now().utcMs;
          return watchTarget(stored, snapshot, { staleAfter: 3, restoredForMs: 0, nowUtcMs });
        }),
      incidents: async () =>
        (await store.incidents.page({ limit: 9, before: null })).map(({ incident }) => ({
          phase: incident.phase.name,
          subject: incident.subject,
        })),
    };
  }

  const occupied = listing({ a: "occupied", b: "occupied" });
  const half = listing({ a: "idle", b: "idle" });
  const subject = { kind: "pool", region: "us", key: null, serverName: null };

  it("judges them over what all their targets showed", async () => {
    const world = openWorld();
    const watch = world.open();
    await watch.gain(names);
    await world.poll(watch, occupied);
    expect(await world.incidents()).toEqual([]);
    await world.poll(watch, null, occupied);
    expect(await world.incidents()).toEqual([{ phase: "pending", subject }]);
    for (const _ of [1, 2]) await world.poll(watch, occupied, occupied);
    expect(await world.incidents()).toEqual([{ phase: "firing", subject }]);
    expect(await world.store.outbox.openItems("oncall", 9)).toHaveLength(1);
    await world.poll(watch, half, half);
    expect(await world.incidents()).toEqual([{ phase: "resolved", subject }]);
    await watch.stop();
    expect(world.log.map(({ event }) => event)).toEqual([
      "incident.opened",
      "incident.fired",
      "incident.resolved",
    ]);
  });

  it("decides nothing while one of them is down, or was not polled", async () => {
    const world = openWorld();
    const watch = world.open();
    await watch.gain(names);
    await world.poll(watch, occupied, "failed");
    for (const _ of [1, 2, 3]) await world.poll(watch, occupied, "failed");
    expect(await world.incidents()).toEqual([]);
    await world.poll(watch, occupied, occupied);
    for (const _ of [1, 2, 3]) await world.poll(watch, half, "failed");
    expect(await world.incidents()).toEqual([{ phase: "pending", subject }]);
    await watch.stop();
  });

  it("decides nothing of targets that were restored, before they are polled", async () => {
    const world = openWorld();
    await world.poll(world.open(), occupied, occupied);
    const watch = world.open(world.restored());
    await watch.gain(names);
    await watch.runOnce();
    expect(await world.incidents()).toEqual([]);
    await watch.stop();
  });

  it("counts no time that was not observed of one of them", async () => {
    const world = openWorld();
    const watch = world.open();
    await watch.gain(names);
    for (const _ of [1, 2]) await world.poll(watch, occupied, occupied);
    world.move();
    await world.poll(watch, occupied, occupied);
    expect(await world.incidents()).toEqual([{ phase: "pending", subject }]);
    await world.poll(watch, occupied, occupied);
    expect(await world.incidents()).toEqual([{ phase: "firing", subject }]);
    await watch.stop();
  });

  it("goes on where the one before it ended", async () => {
    const world = openWorld();
    const first = world.open();
    await first.gain(names);
    for (const _ of [1, 2]) await world.poll(first, occupied, occupied);
    await first.giveUp(names);
    await first.stop();
    const second = world.open();
    await second.gain(names);
    await second.runOnce();
    expect(await world.incidents()).toEqual([{ phase: "pending", subject }]);
    await world.poll(second, occupied, occupied);
    expect(await world.incidents()).toEqual([{ phase: "firing", subject }]);
    await second.stop();
  });

  it("commits nothing any more when another one may own them", async () => {
    const world = openWorld();
    const watch = world.open();
    await watch.gain(names);
    world.state.isHeld = false;
    await world.poll(watch, occupied, occupied);
    await watch.dropAll();
    world.state.isHeld = true;
    await world.poll(watch, occupied, occupied);
    expect(world.state.commits).toBe(0);
    await watch.gain(names);
    await world.poll(watch, occupied, occupied);
    expect(world.state.commits).toBeGreaterThan(0);
    await watch.stop();
    expect(world.clock.armed).toBe(0);
  });

  it("judges them again if the store did not take it, and says so once", async () => {
    const world = openWorld();
    const watch = world.open();
    await watch.gain(names);
    world.state.canCommit = false;
    for (const _ of [1, 2]) await world.poll(watch, occupied, occupied);
    expect(await world.incidents()).toEqual([]);
    world.state.canCommit = true;
    await watch.runOnce();
    expect(await world.incidents()).toEqual([{ phase: "pending", subject }]);
    await watch.stop();
    expect(world.log.map(({ event }) => event)).toEqual(["pool.failed", "incident.opened"]);
  });
});
