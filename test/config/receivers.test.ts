import { Webhook } from "standardwebhooks";
import { describe, expect, it } from "vitest";
import { parseConfig } from "../../src/config/load-config.ts";
import type { ReceiverConfig } from "../../src/config/schema-receivers.ts";
import { configOf, everyKind, receiverOf, signingSecret } from "./support.ts";

const oncall = { name: "oncall", type: "webhook", url: "https://hooks.example.com/x" };

describe("receivers", () => {
  const parsed = (receiver: object) =>
    configOf(parseConfig({ ...everyKind, alerts: { receivers: [receiver] } }));
  const parseReceiver = <Type extends ReceiverConfig["type"]>(type: Type, settings: object) =>
    receiverOf(type, parsed({ ...oncall, type, ...settings }));
  const { url: address, ...unplaced } = oncall;
  const grouped = {
    groupBy: ["rule", "region", "key"],
    groupWaitMs: 5_000,
    groupIntervalMs: 5_000,
    mergeAbove: 20,
    sendResolved: true,
    giveUpAfterMs: 24 * 60 * 60 * 1_000,
  };

  it("of type webhook send their own body, unsigned, without acknowledgements by default", () => {
    const webhook = parseReceiver("webhook", {});
    const usual = { secret: null, format: "sandwatch", bodyTemplate: null, maxIncidents: 100 };
    expect(webhook).toMatchObject({ ...grouped, ...usual, sendAcknowledged: false });
    expect(webhook.url.reveal()).toBe(address);
  });

  it("of type webhook take a body of the user's own, as a mapping or a list", () => {
    const mapping = { text: "{summary}", more: ["{rule}", 1, true, null, { x: "{count}" }] };
    for (const body of [mapping, ["{id}"]]) {
      const { bodyTemplate } = parseReceiver("webhook", { body });
      expect(JSON.parse(bodyTemplate?.reveal() ?? "")).toEqual(body);
    }
  });

  it.each([signingSecret, signingSecret.slice("whsec_".length)])(
    "of type webhook accept only secrets that can sign",
    (secret) => {
      const webhook = new Webhook(parseReceiver("webhook", { secret }).secret?.reveal() ?? "");
      expect(webhook.sign("id", new Date(0), "body")).toMatch(/^v1,/);
    },
  );

  it("of type slack group, and name 20 incidents by default", () => {
    const slack = parseReceiver("slack", {});
    expect(slack).toMatchObject({ ...grouped, sendAcknowledged: true, maxIncidents: 20 });
  });

  it("of type pagerduty have each incident in a message of its own, at once", () => {
    const key = { url: undefined, routing_key: "0123456789abcdef0123456789abcdef" };
    const pagerduty = parseReceiver("pagerduty", key);
    expect(pagerduty).toMatchObject({
      groupBy: ["incident"],
      groupWaitMs: 0,
      groupIntervalMs: 0,
      mergeAbove: Number.POSITIVE_INFINITY,
      maxIncidents: 1,
      sendResolved: true,
      sendAcknowledged: true,
    });
    expect(pagerduty.url.reveal()).toBe("https://events.pagerduty.com/v2/enqueue");
  });

  it("of type alertmanager are notified of everything, at once, at all instances", () => {
    const urls = ["https://am.example.com/base/", "http://127.0.0.1:9093"];
    const written = { ...unplaced, type: "alertmanager", urls, bearer_token: "token" };
    const receiver = receiverOf("alertmanager", parsed(written));
    expect(receiver).toMatchObject({ groupWaitMs: 0, sendResolved: true, generatorUrl: null });
    expect(receiver.urls.map((url) => url.reveal())).toEqual([
      "https://am.example.com/base",
      "http://127.0.0.1:9093",
    ]);
    expect(receiver.bearerToken?.reveal()).toBe("token");
  });

  it("of type heartbeat are called once a minute by GET", () => {
    expect(parseReceiver("heartbeat", {})).toMatchObject({ everyMs: 60_000, method: "GET" });
  });
});
