import { expect, it } from "vitest";
import { notifications } from "../support/heard.ts";
import { watchWorld } from "../support/watched-world.ts";

it("the time around a poll that could not be stored does not count toward `for` of a pool", async () => {
  let isWell = true;
  const rule = { name: "full", on: "pool", by: [], idle: { below: 1 }, for: "15s" };
  const world = await watchWorld({
    servers: 1,
    alerts: { rules: [rule] },
    wrapStore: (store) => ({
      ...store,
      commitPoll: (...poll) =>
        isWell ? store.commitPoll(...poll) : Promise.reject(new Error("disk I/O error")),
    }),
  });
  await world.poll();
  world.show(0, "occupied");
  await world.poll();
  isWell = false;
  await world.poll();
  isWell = true;
  // The time before the first of these was not observed.
  await world.poll(3);
  expect(notifications(world)).toEqual([]);
  await world.poll();
  expect(notifications(world)).toEqual(["full firing"]);
});

it("a pool of sandboxes counts these instead of servers, also over a restart", async () => {
  const rule = { name: "none-free", on: "pool", of: "sandboxes", by: [], idle: { below: 1 } };
  // In one sandbox that states no status, so it has the worst of theirs.
  const world = await watchWorld({ servers: 2, alerts: { rules: [rule] } });
  await world.poll();
  expect(notifications(world)).toEqual([]);
  world.show(0, "occupied");
  await world.poll();
  await world.restart();
  await world.poll();
  expect(notifications(world)).toEqual(["none-free firing"]);
  expect(world.alerts.map(({ data }) => [data.summary, data.incidents[0]?.subject])).toEqual([
    ["sandboxes with fewer than 1 idle (0) since 09:30 UTC", "sandbox_pool"],
  ]);
  world.show(0, "idle");
  await world.poll();
  expect(notifications(world)).toEqual(["none-free firing", "none-free resolved"]);
});
