import { describe, expect, it } from "vitest";
import type { Notification, NotifiedIncident } from "../../src/alerts/notification.ts";
import { Secret } from "../../src/lib/secret.ts";
import type { DeliveryReceiver } from "../../src/notify/pipeline.ts";
import { failed } from "../../src/notify/receiver.ts";
import { createPagerdutyReceiver, pagerdutyEvent } from "../../src/notify/receivers/pagerduty.ts";
import { createFakeClock, type FakeClock } from "../support/fake-clock.ts";
import { oneByOne, openDelivery } from "./support/delivery.ts";
import { fire, incidentOf, outboxItem, resolve, startMs } from "./support/items.ts";
import { hostileTexts, notificationOf } from "./support/notifications.ts";
import { resolvedIncident, unsendableIn } from "./support/notifications.ts";
import { openOutbound } from "./support/outbound.ts";
import { largestEvent, pagerdutyEventSchema } from "./support/pagerduty-event.ts";
import { startReceiverServer, status, type ReceiverServer } from "./support/receiver-server.ts";

const routingKey = "T0PSECRET".padEnd(32, "0");

function eventOf(
  more: Partial<Notification> = {},
  incident: NotifiedIncident = incidentOf(),
  nowMs = startMs,
) {
  const event = pagerdutyEvent(routingKey, notificationOf(more), incident, nowMs);
  return pagerdutyEventSchema.parse(event);
}

function pagerdutyAt({ url }: ReceiverServer, clock: FakeClock): DeliveryReceiver {
  const receiver = createPagerdutyReceiver(
    { name: "oncall", url, routingKey: new Secret(routingKey) },
    { clock, outbound: openOutbound(clock) },
  );
  return { ...oneByOne, groupBy: ["incident"], maxIncidents: 1, receiver };
}

/** What came in, as "trigger a", in order. */
function events({ requests }: ReceiverServer): readonly string[] {
  return requests.map(({ body }) => {
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

  it.each<[string, Notification["type"], NotifiedIncident]>([
    ["trigger", "incident.firing", incidentOf()],
    ["trigger", "incident.reminder", incidentOf()],
    ["acknowledge", "incident.acknowledged", incidentOf({ acknowledgedBy: "ada" })],
    ["resolve", "incident.resolved", resolvedIncident()],
    ["trigger", "test", incidentOf()],
    ["resolve", "test", resolvedIncident()],
  ])("is a %s for %s, always under the incident's own key", (action, type, incident) => {
    expect(eventOf({ type }, incident)).toMatchObject({
      event_action: action,
      dedup_key: "incident-1",
    });
  });

  it("states who acknowledged it, that it flaps, how it ended and how late it is", () => {
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

  it.each(hostileTexts)("keeps every limit with a server named by %s", (_, name) => {
    const names = { serverName: name, serverId: name, sandboxId: name, acknowledgedBy: name };
    const runbookUrl = `https://runbooks.example/${encodeURIComponent(name.toWellFormed())}`;
    const event = eventOf({ summary: name, runbookUrl }, incidentOf(names));
    expect(Buffer.byteLength(JSON.stringify(event))).toBeLessThan(largestEvent / 10);
    expect(unsendableIn(event)).toEqual([]);
    expect(event.payload.summary.trim()).not.toBe("");
  });
});

describe("delivery to PagerDuty", () => {
  it("sends trigger, acknowledge and resolve in their order, though each fails at first", async () => {
    const known = new Set<string>();
    const server = await startReceiverServer((response, request, index) => {
      status(known.has(request.body) ? 202 : 503)(response, request, index);
      known.add(request.body);
    });
    const { store, insert, pass } = openDelivery((clock) => [pagerdutyAt(server, clock)]);
    const acknowledge = outboxItem({
      type: "incident.acknowledged",
      incident: { id: "a", sandboxId: "a", acknowledgedBy: "ada" },
    });
    await insert(fire("a"), acknowledge, resolve("a"));
    for (let run = 0; run < 4; run++) await pass(10_000);
    const actions = ["trigger a", "acknowledge a", "resolve a"];
    expect(events(server)).toEqual(actions.flatMap((action) => [action, action]));
    expect(new Set(await store.states())).toEqual(new Set(["delivered"]));
  });

  it("sends every incident of a notification composed for another type, until one fails", async () => {
    const server = await startReceiverServer(status(202));
    const { receiver } = pagerdutyAt(server, createFakeClock());
    const notification = notificationOf({ incidents: ["a", "b"].map((id) => incidentOf({ id })) });
    const { signal } = new AbortController();
    await receiver.send(notification, signal);
    expect(events(server)).toEqual(["trigger a", "trigger b"]);
    // Its answer may contain the key, and is not read.
    server.answerWith(status(429, { "retry-after": "7" }, routingKey));
    const result = await receiver.send(notification, signal);
    expect(result).toEqual(failed("rate_limited", "HTTP 429", 7_000));
    expect(events(server)).toHaveLength(3);
  });
});
