import { inspect } from "node:util";
import { describe, expect, it } from "vitest";
import { stringify } from "yaml";
import type { ReceiverConfig } from "../../src/config/schema-receivers.ts";
import { formatFaults } from "../../src/config/faults.ts";
import { loadConfig, parseConfig } from "../../src/config/load-config.ts";
import { configOf, faultLines, urlOf, webhookOf, writeFiles } from "./support.ts";

const routingKey = "0123456789abcdef0123456789abcdef";
const webhook = { name: "a", type: "webhook", url: "https://hooks.example.com/x" };
const slack = { name: "a", type: "slack", url: "https://hooks.slack.example/services/T/B/x" };
const pagerduty = { name: "a", type: "pagerduty", routing_key: routingKey };

const configWith = (receiver: object): object => ({
  regions: { us: { base_url: "https://us.example.com" } },
  keys: [{ name: "research", api_key: "k1" }],
  alerts: { receivers: [receiver] },
});

function receiverOf(settings: object): ReceiverConfig {
  const [receiver] = configOf(parseConfig(configWith(settings))).alerts.receivers;
  if (!receiver) throw new Error("there is no receiver");
  return receiver;
}

describe("a receiver of type", () => {
  it("webhook sends its own body, to nobody who acknowledges, unless told otherwise", () => {
    expect(receiverOf(webhook)).toMatchObject({
      type: "webhook",
      format: "sandwatch",
      bodyTemplate: null,
      sendResolved: true,
      sendAcknowledged: false,
      maxIncidents: 100,
    });
    expect(receiverOf({ ...webhook, format: "alertmanager" })).toMatchObject({
      format: "alertmanager",
    });
  });

  it("webhook takes a body of the user's own, as a mapping or a list", () => {
    const body = { text: "{summary}", more: ["{rule}", 1, true, null, { x: "{count}" }] };
    const config = configOf(parseConfig(configWith({ ...webhook, body })));
    expect(JSON.parse(webhookOf(config).bodyTemplate?.reveal() ?? "")).toEqual(body);
    expect(faultLines(parseConfig(configWith({ ...webhook, body: ["{id}"] })))).toEqual([]);
  });

  it("slack groups, tells of acknowledgements and names 20 incidents unless told otherwise", () => {
    const receiver = receiverOf(slack);
    expect(receiver).toMatchObject({
      type: "slack",
      groupBy: ["rule", "region", "key"],
      groupWaitMs: 5_000,
      sendAcknowledged: true,
      maxIncidents: 20,
    });
    expect(urlOf(receiver)).toBe(slack.url);
  });

  it("pagerduty has each incident in a message of its own, at once", () => {
    const receiver = receiverOf(pagerduty);
    expect(receiver).toMatchObject({
      groupBy: ["incident"],
      groupWaitMs: 0,
      groupIntervalMs: 0,
      mergeAbove: Number.POSITIVE_INFINITY,
      maxIncidents: 1,
      sendResolved: true,
      sendAcknowledged: true,
    });
    expect(urlOf(receiver)).toBe("https://events.pagerduty.com/v2/enqueue");
    const eu = "https://events.eu.pagerduty.com/v2/enqueue";
    expect(urlOf(receiverOf({ ...pagerduty, url: eu }))).toBe(eu);
  });

  it("pagerduty reads its key from a file, slack its address", () => {
    const files = {
      "sandwatch.yaml": stringify({
        ...configWith(webhook),
        alerts: {
          receivers: [
            { name: "p", type: "pagerduty", routing_key_file: "key" },
            { name: "s", type: "slack", url_file: "url" },
          ],
        },
      }),
      key: `${routingKey}\n`,
      url: `${slack.url}\n`,
    };
    const { receivers } = configOf(loadConfig(writeFiles(files), {})).alerts;
    expect(receivers[0]?.type === "pagerduty" && receivers[0].routingKey.reveal()).toBe(routingKey);
    expect(urlOf(receivers[1])).toBe(slack.url);
  });
});

describe("a wrong setting of a receiver is told by path, what was found and what is allowed", () => {
  const placeholders =
    "text with placeholders among {type}, {id}, {summary}, {runbook_url}, {count}, {rule}, {severity}, {region}, {key}, {sandbox_id}, {server_id}, {server_name}, {probe}, {status}, {previous_status}";
  const unencrypted =
    "a value that is not shown, which is not encrypted; allowed: https, or a loopback address, or allow_http: true beside it";

  it.each<[string, object, string]>([
    ["no address", { name: "a", type: "slack" }, "url: found nothing; allowed: an https address"],
    ["slack in the clear", { ...slack, url: "http://s.example/" }, `url: found ${unencrypted}`],
    [
      "pagerduty in the clear",
      { ...pagerduty, url: "http://p.example/" },
      `url: found ${unencrypted}`,
    ],
    [
      "no key",
      { name: "a", type: "pagerduty" },
      "routing_key: found nothing; allowed: an integration key of 32 characters",
    ],
    [
      "half a key",
      { ...pagerduty, routing_key: "0123456789abcdef" },
      "routing_key: found a value that is not shown; allowed: an integration key of 32 characters without blanks, or routing_key_file beside it",
    ],
    ...["group_by", "max_incidents", "merge_above", "group_interval"].map(
      (setting): [string, object, string] => [
        `pagerduty with ${setting}`,
        { ...pagerduty, [setting]: 1 },
        `${setting}: found an unknown setting; allowed: name, type, routing_key, url, allow_http, group_wait, send_resolved, send_acknowledged, give_up_after, url_file, routing_key_file`,
      ],
    ),
    [
      "a secret for slack",
      { ...slack, secret: "x" },
      "secret: found an unknown setting; allowed: name, type, url",
    ],
    [
      "more incidents than slack shows",
      { ...slack, max_incidents: 101 },
      "max_incidents: found 101; allowed: a whole number from 1 to 100",
    ],
    [
      "an unknown form",
      { ...webhook, format: "alertmanger" },
      'format: found "alertmanger"; allowed: sandwatch, alertmanager; did you mean "alertmanager"?',
    ],
    [
      "a form and a body",
      { ...webhook, format: "sandwatch", body: {} },
      'format: found "sandwatch"; allowed: format or body, not both',
    ],
    [
      "a body that is text",
      { ...webhook, body: "{summary}" },
      "body: found a value that is not shown; allowed: a mapping or a list",
    ],
    [
      "an unknown placeholder",
      { ...webhook, body: { text: "{summary}", blocks: [{ text: "{sumary}" }] } },
      `body.blocks[0].text: found a value that is not shown; allowed: ${placeholders}`,
    ],
    [
      "a number that JSON does not know",
      { ...webhook, body: { n: Number.NaN } },
      "body.n: found a value that is not shown; allowed: a number that JSON can represent",
    ],
  ])("%s", (_title, receiver, line) => {
    const lines = faultLines(parseConfig(configWith(receiver)));
    expect(lines).toHaveLength(1);
    expect(lines[0]).toContain(`alerts.receivers[0].${line}`);
  });

  it("a file for the key beside the key", () => {
    const config = stringify(configWith({ ...pagerduty, routing_key_file: "key" }));
    const loaded = loadConfig(writeFiles({ "sandwatch.yaml": config, key: routingKey }), {});
    expect(faultLines(loaded)).toEqual([
      expect.stringContaining("routing_key_file: found routing_key beside it; allowed: one of"),
    ]);
  });
});

describe("what is secret about a receiver is not shown", () => {
  const marker = "Xk7QmarkerZ9";
  const secrets: readonly unknown[] = [
    marker,
    `${marker}{sumary}`,
    [marker],
    { [`{${marker}}`]: `{${marker}}` },
    marker.padEnd(32, "0"),
  ];

  it.each([
    ["routing_key", pagerduty],
    ["routing_kye", pagerduty],
    ["url", pagerduty],
    ["url", slack],
    ["body", webhook],
    ["bdy", webhook],
  ])("in %s, right or wrong", (setting, receiver) => {
    for (const secret of secrets) {
      const loaded = parseConfig(configWith({ ...receiver, [setting]: secret }));
      const faults = loaded.kind === "ok" ? "" : formatFaults("sandwatch.yaml", loaded.faults);
      const seen = inspect(loaded, { depth: Number.POSITIVE_INFINITY, showHidden: true });
      expect(`${faults}${JSON.stringify(loaded)}${seen}`).not.toContain(marker);
    }
  });
});
