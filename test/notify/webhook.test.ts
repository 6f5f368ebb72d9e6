import { readFileSync } from "node:fs";
import { Webhook } from "standardwebhooks";
import { describe, expect, it } from "vitest";
import { incidentMessages, type Notification } from "../../src/alerts/notification.ts";
import { systemClock } from "../../src/lib/clock.ts";
import { Secret } from "../../src/lib/secret.ts";
import {
  alertmanagerBody,
  createWebhookReceiver,
  webhookBody,
} from "../../src/notify/receivers/webhook.ts";
import type { WebhookSettings } from "../../src/notify/receivers/webhook.ts";
import { createFakeClock } from "../support/fake-clock.ts";
import { webhookBodySchema } from "../support/webhook-body.ts";
import { alertmanagerMessageSchema } from "./support/alertmanager-message.ts";
import { plainWebhook } from "./support/delivery.ts";
import { incidentOf, startMs } from "./support/items.ts";
import { everySubject, hostileTexts, notificationOf } from "./support/notifications.ts";
import { resolvedIncident, unsendableIn } from "./support/notifications.ts";
import { openOutbound } from "./support/outbound.ts";
import { startReceiverServer, type ReceivedRequest } from "./support/receiver-server.ts";

const signingSecret = `whsec_${Buffer.alloc(32, 9).toString("base64")}`;
const ownBody = (body: unknown) => ({ bodyTemplate: new Secret(JSON.stringify(body)) });

function open(settings: Partial<WebhookSettings> & Pick<WebhookSettings, "url">, atMs = startMs) {
  const clock = createFakeClock(atMs);
  const deps = { clock, outbound: openOutbound(clock) };
  return createWebhookReceiver({ ...plainWebhook, name: "oncall", ...settings }, deps);
}

/** Sends one notification, and returns the request that was made of it. */
async function sent(
  settings: Partial<WebhookSettings>,
  notification: Notification = notificationOf(),
  atMs = startMs,
): Promise<ReceivedRequest> {
  const server = await startReceiverServer();
  const receiver = open({ url: server.url, ...settings }, atMs);
  const { signal } = new AbortController();
  expect(await receiver.send(notification, signal)).toEqual({ kind: "delivered" });
  const [request] = server.requests;
  if (!request) throw new Error("nothing was sent");
  return request;
}

const asSent = (body: unknown): unknown => JSON.parse(JSON.stringify(body));

describe("a webhook", () => {
  it("posts JSON that names its notification, its time and its sender, to the whole URL", async () => {
    const { path, headers, body } = await sent({});
    expect(path).toBe("/hook/T0PSECRET?token=T0PSECRET");
    expect(headers).toMatchObject({
      "webhook-id": "msg_1",
      "webhook-timestamp": String(startMs / 1_000),
      "content-type": "application/json",
      "user-agent": "sandwatch/test",
    });
    expect(headers).not.toHaveProperty("webhook-signature");
    expect(body).toBe(JSON.stringify(webhookBody(notificationOf(), startMs)));
  });

  it("carries the headers of its settings, which replace none of its own", async () => {
    const headers = new Map([
      ["x-api-key", new Secret("key")],
      ["user-agent", new Secret("ours")],
      ["content-type", new Secret("text/plain")],
    ]);
    expect((await sent({ headers })).headers).toMatchObject({
      "x-api-key": "key",
      "user-agent": "ours",
      "content-type": "application/json",
      "webhook-id": "msg_1",
    });
  });

  it.each([
    ["its default format", {}],
    ["the format of Alertmanager", { format: "alertmanager" }],
    ["the user's own format", ownBody({ text: "{{ summary }}" })],
  ] as const)("signs a body in %s as Standard Webhooks verifies it", async (_, format) => {
    const secret = new Secret(signingSecret);
    // The verifier compares with the real time.
    const nowMs = systemClock.now().utcMs;
    const { body, headers } = await sent({ secret, ...format }, notificationOf(), nowMs);
    const signed = Object.fromEntries(Object.entries(headers).map(([k, v]) => [k, String(v)]));
    expect(new Webhook(signingSecret).verify(body, signed)).toEqual(JSON.parse(body));
    const other = new Webhook(Buffer.from("another").toString("base64"));
    expect(() => other.verify(body, signed)).toThrow("No matching signature");
    expect(() => new Webhook(signingSecret).verify(`${body} `, signed)).toThrow("No matching");
  });

  it("is verified by the documented code, which refuses a replay and a changed body", async () => {
    const document = readFileSync("docs/receivers.md", "utf8");
    const [, code = ""] = /```js\n([^`]*(?:`[^`]+`[^`]*)*?)```/.exec(document) ?? [];
    const module: { isGenuine: (...args: readonly unknown[]) => boolean } = await import(
      `data:text/javascript,${encodeURIComponent(code)}`
    );
    const { body, headers } = await sent({ secret: new Secret(signingSecret) });
    const isGenuine = (afterSeconds: number, text = body, secret = signingSecret): boolean =>
      module.isGenuine(secret, headers, text, startMs / 1_000 + afterSeconds);
    expect([0, 300, -300].map((seconds) => isGenuine(seconds))).toEqual([true, true, true]);
    expect([301, -301].map((seconds) => isGenuine(seconds))).toEqual([false, false]);
    expect(isGenuine(0, `${body} `)).toBe(false);
    expect(isGenuine(0, body, `whsec_${Buffer.alloc(32, 8).toString("base64")}`)).toBe(false);
  });

  it("refuses a URL or a signing secret without showing it", () => {
    const notHttp = /^The url of receiver oncall is not an http or https address\.$/;
    for (const url of ["T0PSECRET", "ftp://T0PSECRET", "http://T0PSECRET:99999/"]) {
      expect(() => open({ url: new Secret(url) })).toThrow(notHttp);
    }
    const url = new Secret("http://localhost/");
    const notBase64 = /^The secret of receiver oncall is not whsec_ followed by base64\.$/;
    for (const secret of ["whsec_not base64 T0PSECRET", "whsec_", ""]) {
      expect(() => open({ url, secret: new Secret(secret) })).toThrow(notBase64);
    }
  });
});

describe("the default body", () => {
  it("contains only the documented fields for every kind of subject, and for a test", () => {
    const incidents = everySubject.map((each) => ({
      ...each,
      flapping: true,
      acknowledgedBy: "ada",
    }));
    const runbookUrl = "https://runbooks.example/";
    const full = notificationOf({ incidents, truncated: 3, runbookUrl });
    const test = notificationOf({ type: "test", group: {}, incidents: [] });
    for (const each of [full, test]) {
      expect(() => webhookBodySchema.parse(asSent(webhookBody(each, startMs)))).not.toThrow();
    }
  });

  it("states how many of its group still fire", () => {
    const partly = notificationOf({ incidents: [resolvedIncident()], stillFiring: 2 });
    expect(webhookBodySchema.parse(asSent(webhookBody(partly, startMs))).data).toMatchObject({
      still_firing: 2,
      summary: expect.stringMatching(/; 2 still firing$/),
    });
  });

  it("states how late it is, and only then", () => {
    const at = (nowMs: number) => asSent(webhookBody(notificationOf(), nowMs));
    expect(at(startMs + 300_000)).not.toHaveProperty("data.delayed_seconds");
    expect(webhookBodySchema.parse(at(startMs + 300_001)).data).toMatchObject({
      delayed_seconds: 300,
      summary: "Late by 5m: 1 github server in error in us/research since 09:30 UTC",
    });
  });
});

describe("the user's own body", () => {
  it("has its placeholders filled, in texts alone", async () => {
    const template = {
      content: "[{{ severity }}] {{ summary }}",
      items: ["{{ rule }}", { "{{ rule }}": "{{ server_name }} in {{ sandbox_id }}" }],
      level: 3,
      loud: true,
      nothing: null,
    };
    expect(JSON.parse((await sent(ownBody(template))).body)).toEqual({
      ...template,
      content: "[critical] 1 github server in error in us/research since 09:30 UTC",
      items: ["server-error", { "{{ rule }}": "github in sandbox-1" }],
    });
  });

  it.each(hostileTexts)("keeps its form with a server named by %s", async (_, name) => {
    const notification = notificationOf({ incidents: [incidentOf({ serverName: name })] });
    const { body } = await sent(ownBody({ text: "<{{ server_name }}>" }), notification);
    const { text, ...others }: Record<string, string> = JSON.parse(body);
    expect(others).toEqual({});
    expect(text).toMatch(/^<.*>$/);
    expect(text?.isWellFormed()).toBe(true);
    expect(body.length).toBeLessThan(500);
  });
});

function messageOf(more: Partial<Notification> = {}, nowMs = startMs) {
  return alertmanagerMessageSchema.parse(alertmanagerBody(notificationOf(more), nowMs));
}

describe("a body in the format of Alertmanager", () => {
  it("states how late it is", () => {
    const late = { summary: expect.stringMatching(/^Late by 10m: /), delayed_seconds: "600" };
    expect(messageOf({}, startMs + 600_000).alerts).toMatchObject([{ annotations: late }]);
  });

  it("is resolved when all of its incidents are, each with its end", () => {
    const both = messageOf({ incidents: [resolvedIncident(), incidentOf()] });
    expect(both).toMatchObject({
      status: "firing",
      alerts: [{ status: "resolved" }, { status: "firing" }],
    });
    expect(messageOf({ incidents: [resolvedIncident()] })).toMatchObject({
      status: "resolved",
      alerts: [
        { endsAt: "2026-11-20T09:31:00.000Z", annotations: { resolved_reason: "recovered" } },
      ],
    });
  });

  it("is firing while others of its group do, though all of its incidents are resolved", () => {
    const partly = messageOf({
      type: "incident.resolved",
      incidents: [resolvedIncident()],
      stillFiring: 2,
    });
    expect(partly).toMatchObject({
      status: "firing",
      notification_reason: "some alerts resolved",
      commonAnnotations: { summary: expect.stringMatching(/; 2 still firing$/) },
      alerts: [{ status: "resolved" }],
    });
  });

  it("says why it is sent in the words of Alertmanager, and of acknowledgements that it is unknown", () => {
    const [first, reminder, ...others] = incidentMessages.map((type) => messageOf({ type }));
    expect(first?.notification_reason).toBe("first notification");
    expect(reminder?.notification_reason).toBe("repeat interval elapsed");
    const reasons = others.map((message) => message.notification_reason);
    expect(reasons).toEqual(["unknown", "unknown", "all alerts resolved"]);
  });

  it("identifies a subject by the same fingerprint while it lasts, and no other", () => {
    const [first, ...others] = [
      incidentOf(),
      incidentOf({ id: "the next", serverId: "server-1", status: "unknown" }),
      resolvedIncident(),
      incidentOf({ serverId: "server-2" }),
    ].map((incident) => messageOf({ incidents: [incident] }).alerts[0]?.fingerprint);
    expect(others.map((print) => print === first)).toEqual([true, true, false]);
  });

  it("lists what its alerts have in common, and no empty label", () => {
    const incidents = everySubject.map((incident, n) => ({ ...incident, id: `incident-${n}` }));
    const { alerts, commonLabels, commonAnnotations } = messageOf({ incidents });
    const common = { alertname: "server-error", severity: "critical" };
    expect(commonLabels).toEqual(common);
    expect(Object.keys(commonAnnotations)).toEqual(["summary"]);
    expect(alerts.at(-1)?.labels).toEqual({ ...common, subject: "receiver", receiver: "pager" });
  });

  it.each(hostileTexts)("keeps its form with a server named by %s", (_, name) => {
    const incidents = [incidentOf({ serverName: name, sandboxId: name, acknowledgedBy: name })];
    const message = messageOf({ incidents, group: { server_name: name, incident: "incident-1" } });
    expect(unsendableIn(message)).toEqual([]);
    expect(JSON.stringify(message).length).toBeLessThan(20_000);
  });
});
