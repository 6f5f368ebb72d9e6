import { expect, it } from "vitest";
import { receiverNotes } from "../../src/cli/receiver-notes.ts";
import { writeConfig } from "../support/config-file.ts";
import { runCommand } from "../support/run-command.ts";
import { testConfig } from "../support/test-config.ts";

const slack = "https://hooks.slack.com/services/T0PSECRET/B1/x1";
const discord = "https://discord.com/api/webhooks/1/T0PSECRET";
const teams = "https://acme.webhook.office.com/webhookb2/T0PSECRET";
const workflow = "https://prod-1.westus.logic.azure.com/workflows/T0PSECRET/triggers";
const routingKey = "0123456789abcdef0123456789abcdef";

function notesOn(receiver: object): readonly string[] {
  const config = testConfig({
    regions: { us: { base_url: "https://us.example.com" } },
    keys: [{ name: "research", api_key: "simulated" }],
    alerts: { receivers: [{ name: "oncall", ...receiver }] },
  });
  return receiverNotes(config.alerts.receivers);
}

it.each<[object, string]>([
  [{ type: "webhook", url: slack }, "that of a Slack webhook: set type: slack"],
  [{ type: "discord", url: slack }, "set type: slack"],
  [{ type: "teams", url: slack.replace("slack", "slack-gov") }, "set type: slack"],
  [{ type: "heartbeat", url: slack }, "set type: slack"],
  [{ type: "slack", url: discord }, "that of a Discord webhook: set type: discord"],
  [{ type: "webhook", url: discord.replace("discord", "discordapp") }, "set type: discord"],
  [{ type: "webhook", url: discord.replace("discord", "canary.discord") }, "set type: discord"],
  [
    { type: "slack", url: "https://hooks.slack.com/triggers/T0/1/T0PSECRET" },
    "that of a workflow of Slack, which needs a body of its own: set type: webhook",
  ],
  [{ type: "discord", url: `${discord}/slack` }, "that understands Slack: set type: slack"],
  [{ type: "slack", url: teams }, "set type: teams"],
  [{ type: "discord", url: workflow }, "that of a workflow of Microsoft: set type: teams"],
  [
    { type: "webhook", url: "https://events.eu.pagerduty.com/v2/enqueue" },
    "that of PagerDuty's Events API: set type: pagerduty",
  ],
  [{ type: "slack", url: "https://api.telegram.org/bot1:T0PSECRET/sendMessage" }, "type: telegram"],
  [{ type: "webhook", url: "https://ntfy.sh/T0PSECRET" }, "set type: ntfy"],
  [{ type: "webhook", url: "https://slack.com/api/chat.postMessage" }, "set type: slack_app"],
  [{ type: "slack", url: "https://hooks.slack.com/" }, "without the path of a webhook"],
  [
    { type: "webhook", url: "https://am.example.com/api/v2/alerts" },
    "that of Alertmanager's API: set type: alertmanager",
  ],
  [
    {
      type: "alertmanager",
      urls: ["https://a.example.com", "https://b.example.com/am/api/v2/alerts"],
    },
    "ends in /api/v2/alerts, which sandwatch appends itself",
  ],
  [{ type: "pagerduty", routing_key: routingKey, url: slack }, "set type: slack"],
])("the receiver %j is probably wrong", (receiver, note) => {
  const notes = notesOn(receiver);
  expect(notes).toEqual([expect.stringContaining(note)]);
  expect(notes.join()).toMatch(/^receiver oncall has /);
  expect(notes.join()).not.toContain("T0PSECRET");
});

it.each<[object]>([
  [{ type: "slack", url: slack }],
  [{ type: "slack", url: `${discord}/slack` }],
  [{ type: "slack", url: "https://mattermost.example.com/hooks/x" }],
  [{ type: "discord", url: discord }],
  [{ type: "teams", url: workflow }],
  [{ type: "webhook", url: workflow }],
  [{ type: "webhook", url: slack, body: { text: "{{ summary }}" } }],
  [{ type: "webhook", url: "https://hooks.example.com/x" }],
  [{ type: "pagerduty", routing_key: routingKey }],
  [{ type: "alertmanager", urls: ["https://am.example.com/prefix"] }],
  [{ type: "ntfy", topic: "t" }],
])("the receiver %j is not remarked on", (receiver) => {
  expect(notesOn(receiver)).toEqual([]);
});

it("check-config and doctor show what is probably wrong", async () => {
  const receivers = [{ name: "oncall", type: "webhook", url: slack }];
  const outbound = { deny_networks: ["0.0.0.0/0", "::/0"] };
  const { config } = writeConfig({ alerts: { receivers, outbound } });
  const note = "receiver oncall has the type webhook, but its address is that of a Slack webhook";
  const checked = await runCommand(["check-config", "--config", config]);
  expect(checked).toMatchObject({ code: 0, out: expect.stringContaining(`note: ${note}`) });
  const examined = await runCommand(["doctor", "--config", config]);
  expect(examined.out).toContain(`warn  ${note}`);
});
