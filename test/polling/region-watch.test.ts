import { describe, expect, it } from "vitest";
import type { RegionRule } from "../../src/alerts/rule.ts";
import { noSuppressions } from "../../src/alerts/silence.ts";
import { createRegionWatch } from "../../src/polling/region-watch.ts";
import { createStore } from "../../src/store/store.ts";
import { addTarget } from "../support/add-target.ts";
import { captureLog } from "../support/capture-log.ts";
import { createFakeClock } from "../support/fake-clock.ts";
import { judgeBy, listing, startMs, targetDown, watchFleet } from "../support/fleet.ts";
import { openFresh } from "../support/fresh-store.ts";

const { trouble: __, ...base } = targetDown;
const regionDown: RegionRule = {
  ...base,
  name: "region-down",
  on: "region",
  for: { kind: "polls", polls: 2 },
};
const targets = ["one", "other"].map((key) => ({ region: "eu", key }));

/** Two replicas, of which notices arrive at both, as with PostgreSQL. */
async function twoReplicas() {
  const { kysely, close } = openFresh();
  const store = createStore(kysely, close);
  const clock = createFakeClock(startMs);
  const { log, lines } = captureLog();
  const judge = judgeBy([regionDown]);
  const state = { isHeld: true, canNotify: true, notices: [] as string[] };
  const open = () => {
    return createRegionWatch({
      targets,
      store: store.regions,
      judge,
      suppressions: { at: () => noSuppressions, reload: async () => {} },
      notifier: { wake() {} },
      intervalMs: 30_000,
      shared: {
        isHeld: () => state.isHeld,
        async notice(topic) {
          if (!state.canNotify) throw new Error("the database is away");
          state.notices.push(topic);
          for (const each of replicas) each.onNotice(topic);
        },
        readEveryMs: 5_000,
      },
      clock,
      log,
    });
  };
  const replicas: ReturnType<typeof open>[] = [];
  const [owner, other] = [open(), open()];
  replicas.push(owner, other);
  const fleets = await Promise.all(
    targets.map(async (target) => {
      const { id } = await addTarget(store, target);
      return { id, ...watchFleet(target, { judge, id }) };
    }),
  );
  /** Timers lead to reads of the store, which take a few turns. */
  const settle = async () => {
    for (let turn = 0; turn < 20; turn += 1) await store.check();
    await Promise.all(replicas.map((each) => each.runOnce()));
  };
  return {
    store,
    clock,
    state,
    lines,
    owner,
    other,
    settle,
    /** Half a minute later both were polled, by the one that does not own the region. */
    async poll(outcome: Parameters<(typeof fleets)[0]["poll"]>[0]) {
      clock.advance(30_000);
      for (const { id, poll } of fleets) await store.commitPoll(id, poll(outcome));
      other.wake("eu");
      // The one gathers what failed, and then the other.
      for (const _ of [1, 2]) {
        clock.advance(1_000);
        await settle();
      }
    },
    async stop() {
      for (const each of replicas) await each.stop();
    },
  };
}

describe("a region that one replica judges", () => {
  it("is judged when another one polls its targets, which then knows that it is down", async () => {
    await using stack = new AsyncDisposableStack();
    const world = await twoReplicas();
    stack.defer(() => world.stop());
    const { owner, other, state } = world;
    await owner.gain(["eu"]);
    await other.follow();
    await world.poll(listing({ a: "idle" }));
    expect(new Set(state.notices)).toEqual(new Set(["region-polled eu"]));
    for (const _ of [1, 2]) await world.poll("failed");
    expect(owner.down().get("eu")).toMatchObject([{ rule: "region-down" }]);
    expect(other.down()).toEqual(owner.down());
    await world.poll(listing({ a: "idle" }));
    expect(owner.down().get("eu")).toEqual([]);
    expect(other.down().get("eu")).toEqual([]);
    expect(world.lines.map(({ event }) => event)).toEqual(["incident.fired", "incident.resolved"]);
  });

  it("is known to be down also where notices are lost", async () => {
    await using stack = new AsyncDisposableStack();
    const world = await twoReplicas();
    stack.defer(() => world.stop());
    const { owner, other, state } = world;
    await owner.gain(["eu"]);
    await other.follow();
    state.canNotify = false;
    for (const _ of [1, 2]) await world.poll("failed");
    owner.wake("eu");
    world.clock.advance(1_000);
    await world.settle();
    expect(other.down().get("eu")).toEqual([]);
    world.clock.advance(5_000);
    await world.settle();
    expect(other.down()).toEqual(owner.down());
    expect(other.down().get("eu")).toHaveLength(1);
  });

  it("is down for a replica that begins to poll", async () => {
    await using stack = new AsyncDisposableStack();
    const world = await twoReplicas();
    stack.defer(() => world.stop());
    await world.owner.gain(["eu"]);
    world.state.canNotify = false;
    for (const _ of [1, 2]) await world.poll("failed");
    world.owner.wake("eu");
    world.clock.advance(1_000);
    await world.settle();
    await world.other.follow();
    expect(world.other.down().get("eu")).toHaveLength(1);
  });

  it("is not judged any more by one whose lease has ended, or that gave it up", async () => {
    await using stack = new AsyncDisposableStack();
    const world = await twoReplicas();
    stack.defer(() => world.stop());
    const { owner, other, state, store } = world;
    const incidents = () => store.incidents.page({ limit: 9, before: null });
    await owner.gain(["eu"]);
    state.isHeld = false;
    for (const _ of [1, 2]) await world.poll("failed");
    expect(await incidents()).toEqual([]);
    state.isHeld = true;
    await owner.giveUp(["eu"]);
    await world.poll("failed");
    expect(await incidents()).toEqual([]);
    await other.gain(["eu"]);
    expect(await incidents()).toHaveLength(1);
  });
});
