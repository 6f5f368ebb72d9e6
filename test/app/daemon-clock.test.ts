import { setImmediate as settle } from "node:timers/promises";
import { expect, it } from "vitest";
import { countByStatus, noneByStatus } from "../../src/fleet/tallies.ts";
import { openStoreReadOnly } from "../../src/store/store.ts";
import { bucketsIn } from "../support/collect.ts";
import { notifications } from "../support/heard.ts";
import { watchWorld } from "../support/watched-world.ts";

const hourMs = 3_600_000;
const servers = 3;

it.each([
  ["a day forward", 24 * hourMs],
  ["an hour back", -hourMs],
])(
  "a wall clock that is set %s neither delays polls, nor lets an incident fire, resolve or end, nor adds observed time",
  async (_, stepMs) => {
    const lasting = { name: "lasting", on: "server", status: "error", for: "10m" };
    const atOnce = { name: "at-once", on: "server", status: "error" };
    const down = { name: "down", on: "target", failing: { polls: 1 } };
    const world = await watchWorld({
      servers,
      poll: { schedule: "*/30 * * * * *" },
      alerts: { rules: [lasting, atOnce, down] },
      receiver: { give_up_after: "1h" },
    });
    const address = await world.address();
    world.daemon().watch();
    const startedMs = world.clock.now().monotonicMs;
    const polls = async (): Promise<number> =>
      Number(/^sandwatch_polls_total\{.*\} (\d+)$/m.exec(await world.metrics())?.[1]);
    const pass = async (seconds: number): Promise<void> => {
      for (let second = 0; second < seconds; second += 5) {
        world.clock.advance(5_000);
        for (let turn = 0; turn < 10; turn += 1) await settle();
      }
      // A request that was sent in the last moment.
      const response = await fetch(`${address}/-/ready`);
      expect(await response.text()).toBe("ready\n");
    };
    await pass(90);
    world.peer.answer(503);
    world.show(0, "error");
    await pass(60);
    const before = await polls();
    world.clock.stepUtc(stepMs);
    await pass(180);
    expect((await polls()) - before).toBeGreaterThanOrEqual(5);
    world.peer.answer(204);
    await pass(300);
    expect(notifications(world)).toEqual(["at-once firing"]);
    await pass(120);
    expect(notifications(world)).toEqual(["at-once firing", "lasting firing"]);
    const unwanted = ["target.lost", "loop.silent", "notification.dead", "poll.failed"];
    expect(world.log.filter(({ event }) => unwanted.includes(event ?? ""))).toEqual([]);

    world.clock.stepUtc(Math.abs(stepMs));
    await pass(60);
    const passedMs = world.clock.now().monotonicMs - startedMs;
    await world.daemon().stop();
    const store = openStoreReadOnly(world.config.store.path);
    const buckets = await bucketsIn(store.occupancy, { resolution: "5m", counted: "server" });
    await store.close();
    const ofBuckets = buckets.map(({ bucket }) =>
      countByStatus(bucket.names.get("")?.ms ?? noneByStatus),
    );
    const observedMs = ofBuckets.reduce((sum, ms) => sum + ms, 0) / servers;
    // While a clock that was set back catches up, nothing is recorded.
    expect(observedMs).toBeGreaterThan(passedMs / 6);
    expect(observedMs).toBeLessThanOrEqual(passedMs);
  },
);
