import { expect, it } from "vitest";
import { startReceiverServer } from "../notify/support/receiver-server.ts";
import { writeConfig } from "../support/config-file.ts";
import { runCommand } from "../support/run-command.ts";

const secret = "T0PSECRET".padEnd(32, "0");
const auth = { username: "sandwatch", password: secret };
const email = { host: "127.0.0.1", port: 1, from: "sandwatch@example.com", to: ["a@example.com"] };

it.each([
  ["webhook", { bearer_token: secret, secret: `whsec_${secret}` }, /"type": "test"/],
  ["webhook", { body: { text: "{{ summary }}", token: secret } }, /"token": "\[secret\]"/],
  ["webhook", { body: { text: "{{ rule }} ${T0P_KEY}" } }, /"text": "sandwatch-test \[secret\]"/],
  ["slack", {}, /"blocks"/],
  ["slack_app", { token: `xoxb-${secret}`, channel: "C012" }, /authorization: \[secret\]/],
  ["discord", {}, /"embeds"/],
  ["teams", {}, /"AdaptiveCard"/],
  ["telegram", { bot_token: `1:${secret}`, chat_id: 7 }, /"chat_id": "7"/],
  [
    "ntfy",
    { topic: secret, headers: { "X-Key": secret } },
    /x-key: \[secret\][^]*"topic": "\[secret\]"/,
  ],
  ["email", { ...email, auth }, /"subject": "🧪 Test: Test from sandwatch/],
  ["pagerduty", { routing_key: secret }, /"routing_key": "\[secret\]"/],
  ["alertmanager", { bearer_token: secret }, /"alertname": "sandwatch-test"/],
  ["heartbeat", { basic_auth: auth }, /^GET\nauthorization: \[secret\]/],
])(
  "test-receiver --dry-run shows what %s would send, without secrets",
  async (type, more, shown) => {
    const server = await startReceiverServer();
    const url = server.url.reveal();
    const address =
      type === "alertmanager"
        ? { urls: [`${server.origin}/T0PSECRET`] }
        : type === "email"
          ? {}
          : { url };
    const receivers = [{ name: "oncall", type, ...address, ...more }];
    const { config } = writeConfig({ alerts: { receivers, rules: [] } });
    const command = ["test-receiver", "oncall", "--config", config, "--dry-run"];
    const { out, err, code } = await runCommand(command, { T0P_KEY: secret });
    expect([code, err]).toEqual([0, ""]);
    expect(out).toMatch(shown);
    expect(out).toMatch(/\nThis was a dry run\. Nothing was sent\.\n$/);
    expect(out).not.toContain("T0PSECRET");
    expect(server.requests).toEqual([]);
  },
);
