import { describe, expect, it } from "vitest";
import { events, sumOf, notifications } from "../support/heard.ts";
import { watchWorld } from "../support/watched-world.ts";

describe("the daemon where observation fails", () => {
  it("takes a partial listing as proof of nothing that it lacks", async () => {
    const world = await watchWorld({ servers: 12 });
    world.show(0, "error");
    await world.poll();
    world.fail({ kind: "partial", share: 1 });
    await world.poll(4);

    expect(notifications(world)).toEqual(["server-error firing"]);
    expect(events(world).filter((event) => event === "server.changed")).toEqual([]);
  });

  it("takes a status that no rule knows for no recovery, also over a restart", async () => {
    const world = await watchWorld();
    world.show(0, "error");
    await world.poll();
    world.show(0, "hibernating");
    await world.poll(2);
    await world.restart();
    await world.poll(2);
    world.show(0, "error");
    await world.poll(2);
    expect(notifications(world)).toEqual(["server-error firing"]);

    world.show(0, "idle");
    await world.poll();
    expect(notifications(world)).toEqual(["server-error firing", "server-error resolved"]);
    expect(world.alerts[1]?.data.incidents[0]).toMatchObject({
      id: world.alerts[0]?.data.incidents[0]?.id,
      resolved_reason: "recovered",
    });
  });

  it("freezes the servers' incidents while a target is down, which is notified itself", async () => {
    const world = await watchWorld();
    world.show(0, "error");
    await world.poll();
    world.fail({ kind: "status", status: 500 });
    world.show(0, "idle");
    world.show(1, "error");
    await world.poll(4);
    expect(notifications(world)).toEqual(["server-error firing", "target-down firing"]);

    world.fail();
    await world.poll();
    expect(notifications(world).slice(2).toSorted()).toEqual([
      "server-error firing",
      "server-error resolved",
      "target-down resolved",
    ]);
    expect(events(world).filter((event) => event?.startsWith("target."))).toEqual([
      "target.first_listing",
      "target.lost",
      "target.returned",
    ]);
  });

  it("keeps what was last observed for a while when down, and then shows nothing", async () => {
    const world = await watchWorld({ servers: 1 });
    await world.poll();
    world.fail({ kind: "status", status: 503 });
    await world.poll(2);
    const early = await world.metrics();
    expect(early).toContain('sandwatch_target_up{region="us",key="research"} 0');
    expect(early).toMatch(/sandbox_server_status\{[^}]*status="idle"\} 1/);

    await world.poll();
    const late = await world.metrics();
    expect(late).not.toContain("sandbox_server_status{");
    expect(late).not.toContain("sandbox_servers{");
    expect(late).toContain(
      'sandwatch_poll_failures_total{region="us",key="research",reason="server_error"} 3',
    );
  });

  it("books the time between complete polls to the statuses, and the rest as unobserved", async () => {
    const world = await watchWorld({ servers: 4 });
    await world.poll();
    world.show(0, "occupied");
    await world.poll(3);
    world.fail({ kind: "status", status: 500 });
    await world.poll();
    world.fail();
    await world.poll(2);

    const text = await world.metrics();
    const seconds = sumOf(text, "sandbox_server_status_seconds_total");
    const unobserved = sumOf(text, "sandbox_unobserved_seconds_total");
    // Seven polls span thirty seconds, of which ten lie around the failed one.
    expect(seconds).toBe(4 * 20);
    expect(unobserved).toBe(10);
    expect(sumOf(text, "sandbox_server_status_seconds_total", 'status="occupied"')).toBe(15);
  });
});
