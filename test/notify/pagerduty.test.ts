import { describe, expect, it } from "vitest";
import type { Incident } from "../../src/alerts/incident.ts";
import type { Notification, NotifiedIncident } from "../../src/alerts/notification.ts";
import type { OutboxItem } from "../../src/alerts/notification.ts";
import { Secret } from "../../src/lib/secret.ts";
import { failed } from "../../src/notify/receiver.ts";
import { alertKey, createPagerdutyReceiver } from "../../src/notify/receivers/pagerduty.ts";
import { pagerdutyEvent, type PagerdutyDeps } from "../../src/notify/receivers/pagerduty.ts";
import { createFakeClock, type FakeClock } from "../support/fake-clock.ts";
import { openDelivery } from "./support/delivery.ts";
import { incidentOf, startMs } from "./support/items.ts";
import { hostileTexts, notificationOf } from "./support/notifications.ts";
import { resolvedIncident, unsendableIn } from "./support/notifications.ts";
import { firing, openNotifiedStore, resolved } from "./support/notified-store.ts";
import { openOutbound } from "./support/outbound.ts";
import { startPagerduty } from "./support/pagerduty.ts";
import {
  largestEvent,
  pagerdutyEventSchema,
  readPagerdutyEvent,
} from "./support/pagerduty-event.ts";
import { status, type ReceiverServer } from "./support/receiver-server.ts";

const routingKey = "T0PSECRET".padEnd(32, "0");

function eventOf(more: Partial<Notification> = {}, nowMs = startMs) {
  const event = pagerdutyEvent(routingKey, "trigger", "key", notificationOf(more), nowMs);
  return pagerdutyEventSchema.parse(event);
}

describe("an event for PagerDuty", () => {
  it("states who acknowledged it, that it flaps, how it ended and how late it is", () => {
    const incident = resolvedIncident({ acknowledgedBy: "ada", flapping: true });
    const late = startMs + 3 * 3_600_000;
    const { payload } = eventOf({ type: "incident.resolved", incidents: [incident] }, late);
    expect(payload.summary).toMatch(/^Late by 3h: /);
    expect(payload.custom_details).toMatchObject({
      acknowledged_by: "ada",
      flapping: "true",
      resolved_reason: "recovered",
      resolved_at: "2026-11-20T09:31:00.000Z",
      delayed_seconds: "10800",
    });
  });

  it.each(hostileTexts)("keeps every limit with 5,000 servers named by %s", (_, name) => {
    const names = { serverName: name, serverId: name, sandboxId: name, acknowledgedBy: name };
    const runbookUrl = `https://runbooks.example/${encodeURIComponent(name.toWellFormed())}`;
    const incidents = Array.from({ length: 5_000 }, (_each, n) =>
      incidentOf({ id: `i${n}`, ...names }),
    );
    const event = eventOf({ summary: name, runbookUrl, incidents });
    expect(Buffer.byteLength(JSON.stringify(event))).toBeLessThan(largestEvent / 2);
    expect(unsendableIn(event)).toEqual([]);
  });
});

it.each<[Partial<NotifiedIncident>, isSame: boolean, of?: Partial<NotifiedIncident>]>([
  [{ id: "other", sandboxId: "x", serverName: "git" }, true],
  [{ region: "eu" }, false],
  [{ key: "batch" }, false],
  [{ key: "batch" }, true, { subject: "target", trouble: "failing" }],
  [{ region: "eu" }, true, { subject: "target", trouble: "auth" }],
  [{ region: "eu" }, false, { subject: "region", key: null }],
])("an alert also has an incident with %j: %s", (other, isSame, of = {}) => {
  const key = alertKey("server-error", incidentOf(of));
  expect(alertKey("server-error", incidentOf({ ...of, ...other })) === key).toBe(isSame);
  expect(alertKey("another", incidentOf({ ...of, ...other }))).not.toBe(key);
});

const receiverAt = (
  { url }: ReceiverServer,
  clock: FakeClock,
  notifiedAlerts: PagerdutyDeps["notifiedAlerts"],
) =>
  createPagerdutyReceiver(
    { name: "am", url, routingKey: new Secret(routingKey) },
    { clock, outbound: openOutbound(clock), notifiedAlerts },
  );

describe("delivery to PagerDuty", () => {
  /** PagerDuty, and incidents of servers in one region and key of which the receiver is notified. */
  async function open() {
    const { outbox, commit, commitAs, acknowledge } = await openNotifiedStore();
    const pagerduty = await startPagerduty();
    const { pass, observed } = openDelivery(
      (clock) => [
        {
          groupBy: ["region", "key"],
          groupWaitMs: 0,
          groupIntervalMs: 0,
          groupLimit: Infinity,
          maxIncidents: 100,
          giveUpAfterMs: 86_400_000,
          receiver: receiverAt(pagerduty.server, clock, outbox.store.notified),
        },
      ],
      { store: outbox },
    );
    const over = (...ids: readonly string[]) =>
      commit(...ids.map((id) => resolved(id, startMs + 60_000)));
    return {
      ...pagerduty,
      pass,
      over,
      observed,
      fire: (...ids: readonly string[]) => commit(...ids.map((id) => firing(id))),
      /** As the daemon does: with a message. */
      ack: async (...ids: readonly string[]): Promise<void> => {
        for (const id of ids) await acknowledge(id, "ada");
        const text: Partial<OutboxItem> = { type: "incident.acknowledged" };
        await commitAs(text, ...ids.map((id): Incident => firing(id)));
      },
      actions: () =>
        pagerduty.events.map(
          ({ event_action: action, payload }) => `${action} ${payload.custom_details.count}`,
        ),
    };
  }
  it("updates the alert as incidents join, and resolves it with the last of them", async () => {
    const { fire, over, pass, actions, state } = await open();
    for (const step of [() => fire("a"), () => fire("b"), () => over("a"), () => fire("c")]) {
      await step();
      await pass(0);
    }
    expect([actions(), state.opened]).toEqual([["trigger 1", "trigger 2", "trigger 2"], 1]);
    await over("b", "c");
    await pass(0);
    expect([actions().at(-1), state.open.size]).toEqual(["resolve 2", 0]);
  });

  it("does not say at the end of the alert what still fired when the message was composed", async () => {
    const { outbox } = await openNotifiedStore();
    const { server, events } = await startPagerduty();
    const receiver = receiverAt(server, createFakeClock(), outbox.store.notified);
    const incidents = [resolvedIncident()];
    const notification = notificationOf({ type: "incident.resolved", incidents, stillFiring: 3 });
    const { signal } = new AbortController();
    expect(await receiver.send(notification, signal)).toEqual({ kind: "delivered" });
    expect(events.map(({ payload }) => payload.summary)).toEqual([
      notificationOf({ incidents }).summary,
    ]);
  });

  it("sends one event for the notifications that wait, and one for what joins later", async () => {
    const { fire, over, pass, actions, server, accept } = await open();
    server.answerWith(status(503));
    for (const id of ["a", "b", "c"]) {
      await fire(id);
      await pass(0);
    }
    server.answerWith(accept);
    for (let run = 0; run < 5; run++) await pass(10_000);
    expect(actions()).toEqual(["trigger 3"]);
    await over("a");
    await fire("d");
    await pass(0);
    await over("b", "c", "d");
    await pass(0);
    await fire("e");
    await pass(0);
    expect(actions().slice(1)).toEqual(["trigger 3", "resolve 3", "trigger 1"]);
  });

  it("acknowledges the alert when all of its incidents are", async () => {
    const { fire, ack, pass, actions, state } = await open();
    await fire("a", "b");
    await pass(0);
    await ack("a");
    await pass(0);
    expect(actions()).toEqual(["trigger 2"]);
    await ack("b");
    await pass(0);
    expect(actions()).toEqual(["trigger 2", "acknowledge 2"]);
    expect([...state.open.values()]).toMatchObject([{ state: "acknowledged" }]);
  });

  it("opens no alert after its end, and leaves none open, when PagerDuty was down meanwhile", async () => {
    const { fire, over, pass, actions, state, server, accept } = await open();
    server.answerWith(status(503));
    await fire("a", "b");
    await pass(0);
    await over("a", "b");
    await pass(0);
    await fire("c");
    server.answerWith(accept);
    for (let run = 0; run < 5; run++) await pass(10_000);
    expect([new Set(actions()), state.opened]).toEqual([new Set(["trigger 1"]), 1]);
    await over("c");
    await pass(0);
    expect([actions().at(-1), state.opened, state.open.size]).toEqual(["resolve 1", 1, 0]);
  });

  it("sends an event for each alert, one at a time, until one fails", async () => {
    const { server } = await startPagerduty();
    const { outbox, commit } = await openNotifiedStore();
    await commit(firing("a"), firing("b", { subject: { kind: "target" }, status: null }));
    const { notified } = outbox.store;
    const sentBefore: number[] = [];
    const receiver = receiverAt(server, createFakeClock(), {
      ...notified,
      firingOf: (...of) => {
        sentBefore.push(server.requests.length);
        return notified.firingOf(...of);
      },
    });
    const incidents = [incidentOf({ id: "a" }), incidentOf({ id: "b", subject: "target" })];
    const reminder = notificationOf({ type: "incident.reminder", incidents });
    const { signal } = new AbortController();
    const send = () => receiver.send(reminder, signal);
    await Promise.all([send(), send()]);
    const keys = server.requests.map(({ body }) => readPagerdutyEvent(body).dedup_key);
    expect([keys.length, new Set(keys).size]).toEqual([4, 2]);
    expect(sentBefore).toEqual([0, 1, 2, 3]);
    // Its answer may contain the key, and is not read.
    server.answerWith(status(429, { "retry-after": "7" }, routingKey));
    expect(await send()).toEqual(failed("rate_limited", "HTTP 429", 7_000));
    expect(server.requests).toHaveLength(5);
  });

  it("is retried when the store fails", async () => {
    const { server } = await startPagerduty();
    const receiver = receiverAt(server, createFakeClock(), {
      firingOf: () => Promise.reject(new Error("broken")),
      textsOf: () => Promise.reject(new Error("broken")),
      notifiedTo: () => Promise.reject(new Error("broken")),
    });
    const result = await receiver.send(notificationOf(), new AbortController().signal);
    expect(result).toEqual(failed("network", "the store failed"));
  });
});
