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
