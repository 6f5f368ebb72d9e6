import { expect, it } from "vitest";
import { withLabels } from "../../src/alerts/notification.ts";
import { Recipients } from "../../src/alerts/recipients.ts";
import type { Rule } from "../../src/alerts/rule.ts";
import type { Config } from "../../src/config/config.ts";
import { notifiedReceivers } from "../../src/config/notified-receivers.ts";
import { compileBody } from "../../src/notify/receivers/body-template.ts";
import { headingOf } from "../../src/notify/receivers/chat-message.ts";
import { alertmanagerBody, webhookBody } from "../../src/notify/receivers/webhook.ts";
import { writeConfig } from "../support/config-file.ts";
import { testConfig } from "../support/test-config.ts";
import { runCommand } from "../support/run-command.ts";
import { incidentOf, startMs } from "./support/items.ts";
import { notificationOf } from "./support/notifications.ts";

const teams = new Map([
  ["research", { team: "search", tier: "gold" }],
  ["batch", { team: "search", tier: "tin" }],
]);
const both = withLabels(
  notificationOf({ incidents: [incidentOf({ key: "research" }), incidentOf({ key: "batch" })] }),
  (key) => teams.get(key ?? "") ?? {},
);

it("the labels of keys are on each incident of a webhook, and on each alert for Alertmanager", () => {
  expect(webhookBody(both, startMs).data.incidents).toMatchObject([
    { labels: { team: "search", tier: "gold" } },
    { labels: { team: "search", tier: "tin" } },
  ]);
  const { alerts, commonLabels } = alertmanagerBody(both, startMs);
  expect(alerts).toMatchObject([
    { labels: { alertname: "server-error", team: "search", tier: "gold" } },
    { labels: { alertname: "server-error", team: "search", tier: "tin" } },
  ]);
  expect(commonLabels).toMatchObject({ team: "search" });
});

it("a message for people names the labels that all of its incidents have", () => {
  expect(headingOf(both, 100)).toBe("🔴 Firing (critical): server-error, team=search");
});

it("a body of one's own has the labels that all of its incidents have, and those of each; others are empty", () => {
  const text =
    "{{ labels.team }} {{ labels.tier }} {% if labels.tier == '' %}mixed{% endif %}{% for i in incidents %} {{ i.labels.tier }}{{ i.labels.none }}{% endfor %}";
  const address = "http://127.0.0.1:1/hook";
  const receivers = [
    { name: "oncall", type: "webhook", url: address, allow_http: true, body: { text } },
  ];
  const regions = { us: { base_url: "https://sandboxes.example" } };
  const keys = [{ name: "research", api_key: "a" }];
  expect(testConfig({ regions, keys, alerts: { receivers } }).alerts.receivers).toHaveLength(1);
  expect(compileBody(text)(both, startMs)).toEqual({
    body: "search  mixed gold tin",
    isReplaced: false,
  });
});

it("without labels, messages have nothing of them", () => {
  const plain = withLabels(notificationOf(), () => ({}));
  expect(webhookBody(plain, startMs).data.incidents[0]).not.toHaveProperty("labels");
});

const email = { host: "127.0.0.1", port: 1, from: "sandwatch@example.com", to: ["a@example.com"] };
const address = { url: "http://127.0.0.1:1/hook", allow_http: true };

it.each([
  ["webhook", address, /"labels": \{\s*"team": "search"/],
  ["webhook", { ...address, format: "alertmanager" }, /"team": "search"/],
  ["slack", address, /, team=search/],
  ["slack_app", { token: "xoxb-1", channel: "C012" }, /, team=search/],
  ["discord", address, /, team=search/],
  ["teams", address, /, team=search/],
  ["telegram", { bot_token: "1:a", chat_id: 7 }, /, team=search/],
  ["ntfy", { ...address, topic: "t" }, /, team=search/],
  ["email", email, /, team=search/],
  ["pagerduty", { routing_key: "0".repeat(32) }, /"labels": \{\s*"team": "search"/],
  ["alertmanager", { urls: ["http://127.0.0.1:1"], allow_http: true }, /"team": "search"/],
])("a receiver of type %s sends labels %j", async (type, more, shown) => {
  const receivers = [{ name: "oncall", type, ...more }];
  const { config } = writeConfig({ alerts: { labels: { team: "search" }, receivers, rules: [] } });
  const command = ["test-receiver", "oncall", "--config", config, "--dry-run"];
  const { out, err, code } = await runCommand(command);
  expect([code, err]).toEqual([0, ""]);
  expect(out).toMatch(shown);
});

it("receivers match by the labels of all keys, too", () => {
  const match = { labels: { site: "lab" } };
  const receiver = { name: "ops", type: "webhook", url: "https://ops.example/", match };
  const config = testConfig({
    regions: { us: { base_url: "https://sandboxes.example" } },
    keys: [{ name: "research", api_key: "a" }],
    alerts: { labels: { site: "lab" }, receivers: [receiver] },
  });
  const target = { region: "us", key: "research" };
  const recipients = new Recipients(notifiedReceivers(config), target, startMs, new Map());
  expect(recipients.informed(targetDown(config), { kind: "target" })).toEqual(["ops"]);
});

function targetDown({ alerts }: Config): Rule {
  const rule = alerts.rules.find(({ on }) => on === "target");
  if (!rule) throw new RangeError("there is no rule on targets");
  return rule;
}
