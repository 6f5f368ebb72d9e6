import { describe, expect, it } from "vitest";
import { Webhook } from "standardwebhooks";
import type { Notification } from "../../src/core/notification.ts";
import { createWebhookReceiver, renderWebhookBody } from "../../src/notify/receivers/webhook.ts";
import { systemClock } from "../../src/platform/clock.ts";
import { Secret } from "../../src/platform/secret.ts";
import { createFakeClock } from "../support/fake-clock.ts";
import { webhookBodySchema } from "../support/webhook-body.ts";
import { alertmanagerMessageSchema } from "./support/alertmanager-message.ts";
import { plainWebhook } from "./support/delivery.ts";
import { openOutbound } from "./support/outbound.ts";
import { startMs, toldIncident } from "./support/items.ts";
import { everySubject, hostileTexts, notificationOf } from "./support/notifications.ts";
import { startReceiverServer, type ReceivedRequest } from "./support/receiver-server.ts";

const never = new AbortController().signal;
const signingSecret = `whsec_${Buffer.alloc(32, 9).toString("base64")}`;

/** Sends one message, and gives the request that came of it. */
async function posted(
  settings: object,
  notification: Notification = notificationOf(),
  clock = createFakeClock(),
): Promise<ReceivedRequest> {
  const server = await startReceiverServer();
  const receiver = createWebhookReceiver(
    { ...plainWebhook, name: "oncall", url: server.url, ...settings },
    { clock, outbound: openOutbound(clock) },
  );
  expect(await receiver.send(notification, never)).toEqual({ kind: "delivered" });
  const [request] = server.requests;
  if (!request) throw new Error("nothing was sent");
  return request;
}

const template = (body: unknown): object => ({ bodyTemplate: new Secret(JSON.stringify(body)) });

describe("a webhook", () => {
  it("posts Alertmanager's body where that is asked for", async () => {
    const { body } = await posted({ format: "alertmanager" });
    expect(() => alertmanagerMessageSchema.parse(JSON.parse(body))).not.toThrow();
  });

  it("posts the user's own body with its placeholders filled", async () => {
    const { body } = await posted(
      template({
        content: "[{severity}] {summary}",
        items: ["{rule}", { "{rule}": "{server_name} in {sandbox_id}" }],
        level: 3,
        loud: true,
        nothing: null,
      }),
    );
    expect(JSON.parse(body)).toEqual({
      content: "[critical] 1 server in error in us (research): github",
      items: ["server-error", { "{rule}": "github in sandbox-1" }],
      level: 3,
      loud: true,
      nothing: null,
    });
  });

  it.each([
    ["sandwatch", {}],
    ["alertmanager", { format: "alertmanager" }],
    ["the user's own", template({ text: "{summary}" })],
  ])("names and signs a body in the form of %s alike", async (_, form) => {
    // The verifier compares with the real time.
    const clock = createFakeClock(systemClock.now().utcMs);
    const secret = new Secret(signingSecret);
    const { body, headers } = await posted({ secret, ...form }, notificationOf(), clock);
    expect(headers["webhook-id"]).toBe("msg_1");
    const signed = Object.fromEntries(Object.entries(headers).map(([k, v]) => [k, String(v)]));
    expect(new Webhook(signingSecret).verify(body, signed)).toEqual(JSON.parse(body));
  });

  it.each(hostileTexts)(
    "keeps the form of the user's body with a server named by %s",
    async (_, name) => {
      const notification = notificationOf({ incidents: [toldIncident({ serverName: name })] });
      const { body } = await posted(template({ text: "<{server_name}>" }), notification);
      const sent: Record<string, string> = JSON.parse(body);
      expect(Object.keys(sent)).toEqual(["text"]);
      expect(sent["text"]).toMatch(/^<.*>$/);
      expect(sent["text"]?.isWellFormed()).toBe(true);
      expect(body.length).toBeLessThan(500);
    },
  );
});

describe("the usual body", () => {
  it.each(everySubject.map((incident) => [incident.subject, incident] as const))(
    "holds nothing but the documented fields for a %s",
    (_, incident) => {
      const told = notificationOf({
        runbookUrl: "https://runbooks.example/",
        incidents: [{ ...incident, flapping: true, acknowledgedBy: "ada" }],
      });
      const body = JSON.parse(renderWebhookBody(told, startMs));
      expect(() => webhookBodySchema.parse(body)).not.toThrow();
    },
  );

  it("says how late it is, and only then", () => {
    const at = (nowMs: number): unknown => JSON.parse(renderWebhookBody(notificationOf(), nowMs));
    expect(at(startMs + 300_000)).not.toHaveProperty("data.delayed_seconds");
    expect(webhookBodySchema.parse(at(startMs + 300_001))).toMatchObject({
      data: {
        delayed_seconds: 300,
        summary: "Late by 5m: 1 server in error in us (research): github",
      },
    });
  });
});
