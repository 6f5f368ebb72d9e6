import { expect, it } from "vitest";
import { watchWorld, type WatchedWorld } from "../support/watched-world.ts";

async function textOf(world: WatchedWorld): Promise<string> {
  const response = await fetch(await world.address());
  const page = await response.text();
  return page.replaceAll(/<[^>]+>/g, "").replaceAll(/\s+/g, " ");
}

it("the overview says who could not be notified, and who was once that works", async () => {
  const world = await watchWorld({ servers: 2 });
  world.peer.answer(503);
  await world.poll();
  world.show(0, "error");
  await world.poll();
  const failing = await textOf(world);
  expect(failing).toContain("Nobody was notified. Messages could not be delivered to oncall.");
  expect(failing).toContain("nobody notified · not delivered to oncall");
  world.peer.answer(204);
  await world.poll(3);
  const delivered = await textOf(world);
  expect(delivered).toMatch(/oncall was notified \d+ s ago\./);
  expect(delivered).not.toContain("could not be delivered");
});

it("the overview says whose messages wait to be sent", async () => {
  const world = await watchWorld({ servers: 2, receiver: { group_wait: "1m" } });
  await world.poll();
  world.show(0, "error");
  await world.poll();
  const waiting = await textOf(world);
  expect(waiting).toContain("Nobody was notified. Messages wait for oncall.");
  expect(waiting).toContain("nobody notified · waiting for oncall");
  await world.poll(14);
  expect(await textOf(world)).toMatch(/oncall was notified \d+ \w+ ago\./);
});
