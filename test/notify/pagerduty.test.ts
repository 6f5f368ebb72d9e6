import { describe, expect, it } from "vitest";
import type { z } from "zod";
import type { Notification, ToldIncident } from "../../src/core/notification.ts";
import type { DeliveryReceiver } from "../../src/notify/pipeline.ts";
import {
  createPagerdutyReceiver,
  renderPagerdutyEvent,
} from "../../src/notify/receivers/pagerduty.ts";
import { Secret } from "../../src/platform/secret.ts";
import { insertOutboxItems } from "../../src/store/outbox.ts";
import { createFakeClock, type FakeClock } from "../support/fake-clock.ts";
import { createDelivery, oneByOne } from "./support/delivery.ts";
import { outboxItem, startMs, toldIncident } from "./support/items.ts";
import { everySubject, hostileTexts, notificationOf } from "./support/notifications.ts";
import { resolvedIncident, textsIn, unsendable } from "./support/notifications.ts";
import { largestEvent, pagerdutyEventSchema } from "./support/pagerduty-event.ts";
import { openOutbound } from "./support/outbound.ts";
import { startReceiverServer, status, type ReceiverServer } from "./support/receiver-server.ts";
import { openTestStore } from "./support/test-store.ts";
import { fire, resolve } from "./support/told.ts";

const never = new AbortController().signal;
const routingKey = "T0PSECRET".padEnd(32, "0");
type Event = z.infer<typeof pagerdutyEventSchema>;

function eventOf(
  more: Partial<Notification> = {},
  incident: ToldIncident = toldIncident(),
  nowMs = startMs,
): Event {
  const text = renderPagerdutyEvent(routingKey, notificationOf(more), incident, nowMs);
  return pagerdutyEventSchema.parse(JSON.parse(text));
}

function pagerdutyAt(
  server: ReceiverServer,
  clock: FakeClock = createFakeClock(),
): DeliveryReceiver {
  const receiver = createPagerdutyReceiver(
    { name: "oncall", url: server.url, routingKey: new Secret(routingKey) },
    { clock, outbound: openOutbound(clock) },
  );
  return { ...oneByOne, groupBy: ["incident"], maxIncidents: 1, receiver };
}

/** What came in, as "trigger a", in order. */
function sent(server: ReceiverServer): readonly string[] {
  return server.requests.map(({ body }) => {
    const event = pagerdutyEventSchema.parse(JSON.parse(body));
    return `${event.event_action} ${event.dedup_key}`;
  });
}

describe("an event for PagerDuty", () => {
  it("says what happened, where, since when, and what to do", () => {
    expect(eventOf({ runbookUrl: "https://runbooks.example/errors" })).toEqual({
      routing_key: routingKey,
      event_action: "trigger",
      dedup_key: "incident-1",
      client: "sandwatch",
      payload: {
        summary: "1 server in error in us (research): github",
        source: "us/research/sandbox-1/server-1",
        severity: "critical",
        timestamp: "2026-11-20T09:30:00.000Z",
        component: "github",
        group: "us/research",
        class: "server-error",
        custom_details: {
          rule: "server-error",
          subject: "server",
          region: "us",
          key: "research",
          sandbox_id: "sandbox-1",
          server_id: "server-1",
          server_name: "github",
          status: "error",
          previous_status: "occupied",
          started_at: "2026-11-20T09:30:00.000Z",
        },
      },
      links: [{ href: "https://runbooks.example/errors", text: "Runbook" }],
    });
  });

  it.each<[string, Notification["type"], ToldIncident]>([
    ["trigger", "incident.firing", toldIncident()],
    ["trigger", "incident.reminder", toldIncident()],
    ["acknowledge", "incident.acknowledged", toldIncident({ acknowledgedBy: "ada" })],
    ["resolve", "incident.resolved", resolvedIncident()],
    ["trigger", "test", toldIncident()],
    ["resolve", "test", resolvedIncident()],
  ])("is a %s for %s, always under the incident's own key", (action, type, incident) => {
    expect(eventOf({ type }, incident)).toMatchObject({
      event_action: action,
      dedup_key: "incident-1",
    });
  });

  it("tells more of an incident where there is more to tell", () => {
    const incident = resolvedIncident({ acknowledgedBy: "ada", flapping: true });
    const late = startMs + 3 * 3_600_000;
    const { payload } = eventOf({ type: "incident.resolved" }, incident, late);
    expect(payload.summary).toMatch(/^Late by 3h: /);
    expect(payload.custom_details).toMatchObject({
      acknowledged_by: "ada",
      flapping: "true",
      resolved_reason: "recovered",
      resolved_at: "2026-11-20T09:31:00.000Z",
      delayed_seconds: "10800",
    });
  });

  it.each(everySubject.map((incident) => [incident.subject, incident] as const))(
    "has all that is required for a %s",
    (_, incident) => {
      expect(() => eventOf({}, incident)).not.toThrow();
    },
  );

  it.each(hostileTexts)("keeps every limit with a server named by %s", (_, name) => {
    const incident = toldIncident({
      serverName: name,
      serverId: name,
      sandboxId: name,
      acknowledgedBy: name,
    });
    const runbookUrl = `https://runbooks.example/${encodeURIComponent(name.toWellFormed())}`;
    const told = notificationOf({ summary: name, runbookUrl });
    const text = renderPagerdutyEvent(routingKey, told, incident, startMs);
    const event = pagerdutyEventSchema.parse(JSON.parse(text));
    expect(Buffer.byteLength(text)).toBeLessThan(largestEvent / 10);
    expect(textsIn(event).filter((each) => unsendable.test(each))).toEqual([]);
    expect(event.payload.summary.trim()).not.toBe("");
  });
});

describe("an answer of PagerDuty", () => {
  it.each([
    [202, "", { kind: "delivered" }],
    [400, "", { kind: "failed", reason: "rejected", detail: "HTTP 400", retryAfterMs: null }],
    [429, "", { kind: "failed", reason: "rate_limited", detail: "HTTP 429", retryAfterMs: null }],
    [429, "7", { kind: "failed", reason: "rate_limited", detail: "HTTP 429", retryAfterMs: 7_000 }],
    [500, "", { kind: "failed", reason: "server_error", detail: "HTTP 500", retryAfterMs: null }],
  ])("of %i with Retry-After %j is heeded", async (code, retryAfter, result) => {
    const server = await startReceiverServer((response) => {
      // Whatever it says of the key stays unread.
      response.writeHead(code, { "retry-after": retryAfter }).end(`{"errors":["${routingKey}"]}`);
    });
    expect(await pagerdutyAt(server).receiver.send(notificationOf(), never)).toEqual(result);
  });
});

describe("delivery to PagerDuty", () => {
  it("sends trigger, acknowledge and resolve in their order, though each fails at first", async () => {
    const failed = new Set<string>();
    const server = await startReceiverServer((response, { body }, index) => {
      const first = !failed.has(body);
      failed.add(body);
      status(first ? 503 : 202)(response, { method: "POST", path: "", headers: {}, body }, index);
    });
    const store = openTestStore();
    const { loop, clock } = createDelivery(store.outbox, (c) => [pagerdutyAt(server, c)]);
    const acknowledge = outboxItem({
      type: "incident.acknowledged",
      incident: { id: "a", sandboxId: "a", acknowledgedBy: "ada" },
    });
    await insertOutboxItems(store.kysely, [fire("a"), acknowledge, resolve("a")]);
    for (let turn = 0; turn < 4; turn++) {
      await loop.runOnce();
      clock.advance(10_000);
    }
    expect(sent(server)).toEqual([
      "trigger a",
      "trigger a",
      "acknowledge a",
      "acknowledge a",
      "resolve a",
      "resolve a",
    ]);
    expect(new Set(await store.states())).toEqual(new Set(["delivered"]));
  });

  it("tells of each incident in an event of its own", async () => {
    const server = await startReceiverServer(status(202));
    const store = openTestStore();
    const { loop } = createDelivery(store.outbox, (clock) => [pagerdutyAt(server, clock)]);
    await insertOutboxItems(store.kysely, ["a", "b", "c"].map(fire));
    await loop.runOnce();
    expect(sent(server).toSorted()).toEqual(["trigger a", "trigger b", "trigger c"]);
  });

  it("tells of every incident of a message that was composed for another type of receiver", async () => {
    const server = await startReceiverServer(status(202));
    const incidents = ["a", "b"].map((id) => toldIncident({ id }));
    const { receiver } = pagerdutyAt(server);
    await receiver.send(notificationOf({ incidents }), never);
    expect(sent(server)).toEqual(["trigger a", "trigger b"]);
    server.answerWith(status(503));
    const result = await receiver.send(notificationOf({ incidents }), never);
    expect(result).toMatchObject({ kind: "failed", reason: "server_error" });
    expect(sent(server)).toHaveLength(3);
  });
});
