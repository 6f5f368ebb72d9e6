import { describe, expect, it } from "vitest";
import { told } from "../support/heard.ts";
import { watchWorld } from "../support/watched-world.ts";

const rules = [
  {
    name: "pool-full",
    on: "pool",
    by: ["region", "key"],
    occupied_ratio: { above: 0.6 },
    for: "10s",
    summary: "{region}/{key} is full",
  },
];

it("tells once that a pool is full for too long, over a restart, and once that it is not", async () => {
  const world = await watchWorld({ servers: 3, alerts: { rules } });
  await world.poll();
  world.show(0, "occupied");
  world.show(1, "occupied");
  await world.poll(2);
  expect(told(world)).toEqual([]);
  await world.poll();
  expect(told(world)).toEqual(["pool-full firing"]);
  expect(world.alerts[0]?.data).toMatchObject({
    summary: "us/research is full",
    incidents: [{ subject: "pool", region: "us", key: "research", server_id: null, status: null }],
  });

  await world.restart();
  await world.poll();
  expect(told(world)).toEqual(["pool-full firing"]);
  world.show(1, "idle");
  await world.poll();
  expect(told(world)).toEqual(["pool-full firing", "pool-full resolved"]);
  const [fired, resolved] = world.alerts.map(({ data }) => data.incidents[0]);
  expect(resolved).toMatchObject({ id: fired?.id, resolved_reason: "recovered" });
});

describe("the time for which a pool must be beyond its limit", () => {
  it("does not include time in which a poll came too late", async () => {
    const world = await watchWorld({ servers: 1, alerts: { rules } });
    world.show(0, "occupied");
    await world.poll();
    world.clock.advance(20 * 60_000);
    await world.poll(2);
    expect(told(world)).toEqual([]);
    await world.poll();
    expect(told(world)).toEqual(["pool-full firing"]);
  });

  it("does not include time before and after a poll that the store refused", async () => {
    let isFull = false;
    const world = await watchWorld({
      servers: 1,
      alerts: { rules },
      wrapStore: (store) => ({
        ...store,
        commitPoll: (targetId, verdict) =>
          isFull
            ? Promise.reject(new Error("database or disk is full"))
            : store.commitPoll(targetId, verdict),
      }),
    });
    world.show(0, "occupied");
    await world.poll();
    isFull = true;
    await world.poll();
    isFull = false;
    await world.poll(2);
    expect(told(world)).toEqual([]);
    await world.poll();
    expect(told(world)).toEqual(["pool-full firing"]);
  });
});
