import { describe, expect, it } from "vitest";
import { listIncidents } from "../../src/api/operations/incidents.ts";
import {
  discardNotifications,
  listNotifications,
  showNotification,
} from "../../src/api/operations/notifications.ts";
import { notifications } from "../support/heard.ts";
import { spoil, unreadable } from "../support/spoil.ts";
import { dumpStore } from "../support/store-dump.ts";
import { watchWorld } from "../support/watched-world.ts";
import type { WatchedWorld, WorldOptions } from "../support/watched-world.ts";
import { startWebhookPeer, webhookSecret } from "../support/webhook-peer.ts";

/** What a cut row still begins with: it must be in no output. */
const secret = "T0PSECRET-of-a-row";

/** Two receivers: the world's, and one that hears what becomes of that. */
async function withWitness(options: WorldOptions = {}) {
  const world = await watchWorld(options);
  const witness = await startWebhookPeer();
  const receiver = (name: string, url: string) => ({
    name,
    type: "webhook",
    url,
    secret: webhookSecret,
    group_wait: "0s",
  });
  const alerts = {
    receivers: [receiver("oncall", world.peer.url), receiver("witness", witness.url)],
  };
  await world.restart({ alerts });
  return { world, alerts, witness };
}

async function deadLetters(world: WatchedWorld) {
  const { notifications: stored } = dumpStore(world.config.store.path);
  return stored
    ?.map((row): object => ({ ...row }))
    .filter((row) => "state" in row && row.state === "dead");
}

describe("a pending notification that cannot be read", () => {
  it("is dead-lettered with its reason, its receiver reported, and the rest goes on", async () => {
    const { world, alerts, witness } = await withWitness();
    await world.poll();
    world.peer.answer(503);
    world.show(0, "error");
    await world.poll();
    const cut = `update notifications set body = '{"id":"${secret}'
      where receiver = 'oncall' and state = 'pending'`;
    await spoil(world, cut, { alerts });
    world.peer.answer(204);
    world.show(1, "error");
    await world.poll(2);

    const { incidents } = await world.daemon().api(listIncidents, {});
    expect(incidents.map(({ rule }) => rule).toSorted()).toContain("receiver-failing");
    expect(notifications(world)).toContain("server-error firing");
    expect(
      world.alerts.flatMap(({ data }) => data.incidents.map((each) => each.server_id)),
    ).toEqual([world.serverIds[1]]);
    const heard = witness.alerts.map(({ type, data }) => [type, data.rule]);
    expect(heard).toContainEqual(["incident.firing", "receiver-failing"]);
    expect(await deadLetters(world)).toMatchObject([
      { receiver: "oncall", last_reason: "unreadable", state: "dead" },
    ]);
    const text = await world.metrics();
    expect(text).toContain(
      'sandwatch_notification_failures_total{receiver="oncall",reason="unreadable"} 1',
    );
    expect(text).toContain('sandwatch_store_unreadable_rows{table="notifications"} 1');
    expect(text).toContain('sandwatch_notifications_dead{receiver="oncall"} 1');

    const { api } = world.daemon();
    const listed = await api(listNotifications, {});
    expect(listed.notifications.length).toBeGreaterThan(1);
    const [[, seq] = []] = [...unreadable(world)].filter(Array.isArray);
    expect(listed.notes).toEqual([
      `1 row is missing: the store cannot read them (notifications: ${seq})`,
    ]);
    await expect(api(showNotification, { id: String(seq) })).rejects.toThrow("cannot be read");
    expect(await api(discardNotifications, { seqs: [Number(seq)] })).toMatchObject({ count: 1 });
    expect(JSON.stringify([world.log, listed, text])).not.toContain(secret);
    expect(unreadable(world)).toHaveLength(1);
  });
});

describe("an item of the outbox that cannot be read", () => {
  it("is dead-lettered, its receiver reported, and those behind it are sent", async () => {
    const { world, alerts, witness } = await withWitness({ receiver: { group_wait: "1h" } });
    const patient = {
      receivers: alerts.receivers.map((each) => ({ ...each, group_wait: "1h" })),
    };
    await world.restart({ alerts: patient });
    world.show(0, "error");
    world.show(1, "error");
    await world.poll();
    const cut = `update outbox_items set body = '{"rule":"${secret}'
      where seq = (select min(seq) from outbox_items where receiver = 'oncall')`;
    await spoil(world, cut, { alerts });
    await world.poll(2);
    expect(world.alerts.flatMap(({ data }) => data.incidents)).toHaveLength(1);
    expect(await deadLetters(world)).toMatchObject([
      { receiver: "oncall", last_reason: "unreadable" },
    ]);
    const heard = witness.alerts.map(({ type, data }) => [type, data.rule]);
    expect(heard).toContainEqual(["incident.firing", "receiver-failing"]);
    expect(await world.metrics()).toContain('sandwatch_notifications_pending{receiver="oncall"} 0');
    expect(JSON.stringify(world.log)).not.toContain(secret);
  });
});
