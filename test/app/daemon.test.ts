import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { notifications } from "../support/heard.ts";
import { apiKey, watchWorld } from "../support/watched-world.ts";
import type { WatchedWorld } from "../support/watched-world.ts";
import { webhookSecret } from "../support/webhook-peer.ts";

function incidentIds({ alerts }: WatchedWorld): readonly (string | undefined)[] {
  return alerts.map(({ data }) => data.incidents[0]?.id);
}

describe("the daemon between the service and a receiver", () => {
  it("notifies once that a server erred and once that it recovered, as one incident", async () => {
    const world = await watchWorld();
    await world.poll();
    world.show(0, "error");
    await world.poll(3);
    world.show(0, "idle");
    await world.poll(2);

    expect(notifications(world)).toEqual(["server-error firing", "server-error resolved"]);
    const [fired, resolved] = world.alerts.map(({ data }) => data.incidents[0]);
    expect(fired).toMatchObject({
      state: "firing",
      server_id: world.serverIds[0],
      status: "error",
      previous_status: "idle",
      resolved_at: null,
    });
    expect(resolved).toMatchObject({
      id: fired?.id,
      state: "resolved",
      status: "idle",
      previous_status: "error",
      resolved_reason: "recovered",
    });
    expect(world.peer.refused).toEqual([]);
  });

  it("goes on with an incident after a restart: it is not notified again, and resolves as itself", async () => {
    const world = await watchWorld();
    await world.poll();
    world.show(0, "error");
    await world.poll();
    await world.restart();
    await world.poll(2);
    expect(notifications(world)).toEqual(["server-error firing"]);

    world.show(0, "idle");
    await world.poll();
    expect(notifications(world)).toEqual(["server-error firing", "server-error resolved"]);
    expect(new Set(incidentIds(world)).size).toBe(1);
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
    expect(notifications(world)).toEqual(["server-error firing"]);
    expect(world.peer.attemptedIds.length).toBeGreaterThan(1);
    expect(new Set(world.peer.attemptedIds).size).toBe(1);
  });

  it("polls and alerts by its own schedule once started", async () => {
    const world = await watchWorld({ servers: 1 });
    world.show(0, "error");
    await world.daemon().start();
    await world.peer.received(1);
    world.show(0, "idle");
    world.clock.advance(10_000);
    await world.peer.received(2);

    expect(notifications(world)).toEqual(["server-error firing", "server-error resolved"]);
  });

  it("notifies a new receiver of an error that goes on, and all that were notified of its end", async () => {
    const world = await watchWorld({ alerts: { receivers: [] } });
    world.show(0, "error");
    await world.poll(2);
    expect(notifications(world)).toEqual([]);

    const late = { name: "late", type: "webhook", url: world.peer.url, secret: webhookSecret };
    await world.restart({ alerts: { receivers: [{ ...late, group_wait: "0s" }] } });
    await world.poll(2);
    expect(notifications(world)).toEqual(["server-error firing"]);

    world.show(0, "idle");
    await world.poll();
    expect(notifications(world)).toEqual(["server-error firing", "server-error resolved"]);
    expect(new Set(incidentIds(world)).size).toBe(1);
  });

  it("leaves no timer armed when it has stopped", async () => {
    const world = await watchWorld();
    await world.daemon().start();
    await world.poll(2);
    await world.daemon().stop();
    expect(world.clock.armed).toBe(0);
  });

  it("lets no secret out: not in alerts, logs, metrics or the store", async () => {
    const world = await watchWorld({ servers: 40 });
    world.show(0, "error");
    await world.poll(2);
    world.fail({ kind: "status", status: 403 });
    await world.poll(3);
    const places = [
      JSON.stringify(world.alerts),
      JSON.stringify(world.log),
      await world.metrics(),
      readFileSync(world.config.store.path, "latin1"),
      readFileSync(`${world.config.store.path}-wal`, "latin1"),
    ];
    const secrets = [apiKey, "T0PSECRET", webhookSecret, "local_sandbox_id=", "access_token"];
    for (const secret of secrets) {
      for (const place of places) expect(place).not.toContain(secret);
    }
  });
});
