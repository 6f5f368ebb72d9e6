import { describe, expect, it } from "vitest";
import { listNotifications, replayNotifications } from "../../src/api/operations/notifications.ts";
import { sumOf } from "../support/heard.ts";
import { watchWorld } from "../support/watched-world.ts";
import type { WatchedWorld } from "../support/watched-world.ts";
import { startWebhookPeer, webhookSecret } from "../support/webhook-peer.ts";
import type { WebhookPeer } from "../support/webhook-peer.ts";

interface Two {
  readonly world: WatchedWorld;
  readonly oncall: WebhookPeer;
  readonly backup: WebhookPeer;
  readonly both: readonly object[];
}

function receiver(name: string, peer: WebhookPeer): object {
  return { name, type: "webhook", url: peer.url, secret: webhookSecret, group_wait: "0s" };
}

/** A daemon with two receivers; what happens to servers is for `oncall`. */
async function watchWithBackup(): Promise<Two> {
  const [oncall, backup] = [await startWebhookPeer(), await startWebhookPeer()];
  const both = [receiver("oncall", oncall), receiver("backup", backup)];
  const rules = [{ name: "down", on: "server", status: "error", receivers: ["oncall"] }];
  const world = await watchWorld({ alerts: { rules, receivers: both } });
  await world.poll();
  return { world, oncall, backup, both };
}

function summaries({ alerts }: WebhookPeer): readonly string[] {
  return alerts.map(({ data }) => data.summary);
}

const failing = 'rule="receiver-failing",severity="warning",state="firing"';

describe("a receiver of the daemon that refuses its notifications", () => {
  it("is notified to the other, counted and shown, until it accepts one again", async () => {
    const { world, oncall, backup } = await watchWithBackup();
    oncall.answer(404);
    world.show(0, "error");
    await world.poll(2);
    expect(summaries(backup)).toEqual(["receiver oncall not accepting notifications (rejected)"]);
    expect(backup.alerts[0]).toMatchObject({
      type: "incident.firing",
      data: {
        rule: "receiver-failing",
        severity: "warning",
        incidents: [{ subject: "receiver", receiver: "oncall", region: null, server_id: null }],
      },
    });
    expect(sumOf(await world.metrics(), "sandwatch_incidents", failing)).toBe(1);
    const page = await fetch(`${await world.address()}/`);
    expect(await page.text()).toContain("receiver oncall");

    oncall.answer(204);
    world.show(0, "idle");
    await world.poll(2);
    expect(summaries(backup)).toEqual([
      "receiver oncall not accepting notifications (rejected)",
      "receiver oncall accepting notifications again",
    ]);
    expect(sumOf(await world.metrics(), "sandwatch_incidents", failing)).toBe(0);
    expect(world.log.filter(({ event }) => event === "incident.fired").at(-1)).toMatchObject({
      rule: "receiver-failing",
      receiver: "oncall",
    });
    expect(backup.refused).toEqual([]);
  });

  it("has what it refused replayed in order, and the figure of dead ones falls", async () => {
    const { world, oncall } = await watchWithBackup();
    oncall.answer(400);
    world.show(0, "error");
    await world.poll();
    world.show(0, "idle");
    await world.poll();
    expect(sumOf(await world.metrics(), "sandwatch_notifications_dead", "oncall")).toBe(2);

    oncall.answer(204);
    const { api } = world.daemon();
    expect((await api(listNotifications, { state: "dead" })).notifications).toHaveLength(2);
    expect(await api(replayNotifications, { receiver: "oncall" })).toMatchObject({ count: 2 });
    await world.poll();
    expect(oncall.alerts.map(({ type }) => type)).toEqual(["incident.firing", "incident.resolved"]);
    expect(sumOf(await world.metrics(), "sandwatch_notifications_dead", "oncall")).toBe(0);
  });
});
