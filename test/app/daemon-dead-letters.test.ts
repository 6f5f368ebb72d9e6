import { expect, it } from "vitest";
import { listNotifications, replayNotifications } from "../../src/api/operations/notifications.ts";
import { notifications, sumOf } from "../support/heard.ts";
import { watchWorld } from "../support/watched-world.ts";
import { startWebhookPeer, webhookSecret } from "../support/webhook-peer.ts";

it("a receiver that refuses its notifications is reported to the other, counted and shown, until it accepts what is replayed", async () => {
  const [oncall, backup] = [await startWebhookPeer(), await startWebhookPeer()];
  const receivers = Object.entries({ oncall, backup }).map(([name, { url }]) => {
    return { name, type: "webhook", url, secret: webhookSecret, group_wait: "0s" };
  });
  const rules = [{ name: "down", on: "server", status: "error", receivers: ["oncall"] }];
  const world = await watchWorld({ alerts: { rules, receivers } });
  const summaries = () => backup.alerts.map(({ data }) => data.summary);
  const shown = async () => {
    const text = await world.metrics();
    const failing = 'rule="receiver-failing",severity="warning",state="firing"';
    return [
      sumOf(text, "sandwatch_incidents", failing),
      sumOf(text, "sandwatch_notifications_dead", "oncall"),
    ];
  };
  await world.poll();
  oncall.answer(404);
  world.show(0, "error");
  await world.poll(2);
  world.show(0, "idle");
  await world.poll();
  expect(summaries()).toEqual([
    "receiver oncall not accepting notifications since 09:30 UTC (rejected)",
  ]);
  expect(backup.alerts[0]).toMatchObject({
    type: "incident.firing",
    data: {
      rule: "receiver-failing",
      severity: "warning",
      incidents: [{ subject: "receiver", receiver: "oncall", region: null, server_id: null }],
    },
  });
  expect(await shown()).toEqual([1, 2]);
  const page = await fetch(`${await world.address()}/`);
  expect(await page.text()).toContain("receiver oncall");
  expect(world.log.filter(({ event }) => event === "incident.fired").at(-1)).toMatchObject({
    rule: "receiver-failing",
    receiver: "oncall",
  });

  oncall.answer(204);
  const { api } = world.daemon();
  expect((await api(listNotifications, { state: "dead" })).notifications).toHaveLength(2);
  expect(await api(replayNotifications, { receiver: "oncall" })).toMatchObject({ count: 2 });
  await world.poll(2);
  expect(oncall.alerts.map(({ type }) => type)).toEqual(["incident.firing", "incident.resolved"]);
  expect(summaries()[1]).toBe("Resolved after 15 s: receiver oncall not accepting notifications");
  expect(await shown()).toEqual([0, 0]);
  expect(backup.refused).toEqual([]);
});

it("what is replayed is delivered at once", async () => {
  const world = await watchWorld();
  world.daemon().watch();
  await world.poll();
  world.peer.answer(404);
  world.show(0, "error");
  await world.poll();
  const { api } = world.daemon();
  expect((await api(listNotifications, { state: "dead" })).notifications).toHaveLength(1);
  world.peer.answer(204);
  await api(replayNotifications, { receiver: "oncall" });
  // No time passes.
  await world.peer.received(1);
  expect(notifications(world)).toEqual(["server-error firing"]);
});
