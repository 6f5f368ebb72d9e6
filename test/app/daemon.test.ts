import { describe, expect, it } from "vitest";
import { events, notifications } from "../support/heard.ts";
import { watchWorld } from "../support/watched-world.ts";

const firing = "server-error firing";
const resolved = "server-error resolved";

describe("the daemon between the service and a receiver", () => {
  it("notifies once that a server erred and once that it recovered, as one incident over a restart", async () => {
    const world = await watchWorld();
    await world.poll();
    world.show(0, "error");
    await world.poll(3);
    await world.restart();
    await world.poll(2);
    expect(notifications(world)).toEqual([firing]);

    world.show(0, "idle");
    await world.poll(2);
    expect(notifications(world)).toEqual([firing, resolved]);
    const [first, last] = world.alerts.map(({ data }) => data.incidents[0]);
    expect(first).toMatchObject({
      state: "firing",
      server_id: world.serverIds[0],
      status: "error",
      previous_status: "idle",
      resolved_at: null,
    });
    expect(last).toMatchObject({
      id: first?.id,
      state: "resolved",
      status: "idle",
      previous_status: "error",
      resolved_reason: "recovered",
    });
    expect(world.peer.refused).toEqual([]);
  });

  it("delivers after a restart what was not taken before it, under the same id", async () => {
    const world = await watchWorld();
    await world.poll();
    world.peer.answer(503);
    world.show(0, "error");
    await world.poll();
    expect(world.alerts).toEqual([]);

    await world.restart();
    world.peer.answer(204);
    await world.poll(2);
    expect(notifications(world)).toEqual([firing]);
    expect(world.peer.attemptedIds.length).toBeGreaterThan(1);
    expect(new Set(world.peer.attemptedIds).size).toBe(1);
  });

  it("polls and alerts by its own schedule once started, and leaves no timer when stopped", async () => {
    const world = await watchWorld({ servers: 1 });
    world.show(0, "error");
    await world.daemon().start();
    await world.peer.received(1);
    world.show(0, "idle");
    world.clock.advance(10_000);
    await world.peer.received(2);
    expect(notifications(world)).toEqual([firing, resolved]);
    await world.daemon().stop();
    expect(world.clock.armed).toBe(0);
  });
});

describe("the daemon where observation fails", () => {
  it("freezes the servers' incidents while a target is down, which is notified itself", async () => {
    const world = await watchWorld();
    world.show(0, "error");
    await world.poll();
    world.fail({ kind: "status", status: 500 });
    world.show(0, "idle");
    world.show(1, "error");
    await world.poll(4);
    expect(notifications(world)).toEqual([firing, "target-down firing"]);

    world.fail();
    await world.poll();
    expect(notifications(world).slice(2).toSorted()).toEqual([
      firing,
      resolved,
      "target-down resolved",
    ]);
    expect(events(world).filter((event) => event?.startsWith("target."))).toEqual([
      "target.first_listing",
      "target.lost",
      "target.returned",
    ]);
  });
});
