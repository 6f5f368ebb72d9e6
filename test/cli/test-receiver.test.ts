import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { alertmanagerMessageSchema } from "../notify/support/alertmanager-message.ts";
import { pagerdutyEventSchema } from "../notify/support/pagerduty-event.ts";
import { shownBy, slackMessageSchema } from "../notify/support/slack-message.ts";
import { startReceiverServer, status } from "../notify/support/receiver-server.ts";
import type { ReceiverServer } from "../notify/support/receiver-server.ts";
import { runCommand } from "../support/run-command.ts";
import { tempFolder } from "../support/temp-folder.ts";

const routingKey = "T0PSECRET".padEnd(32, "0");

/** Tries the receiver out as the command does, and gives all that it printed. */
async function tryOut(server: ReceiverServer, settings: object): Promise<string> {
  const config = join(tempFolder(), "sandwatch.yaml");
  const receiver = { name: "oncall", url: server.url.reveal(), ...settings };
  const regions = { us: { base_url: "https://us.example.com" } };
  const keys = [{ name: "research", api_key: "k1" }];
  // JSON is YAML.
  writeFileSync(config, JSON.stringify({ regions, keys, alerts: { receivers: [receiver] } }));
  const { out, err } = await runCommand(["test-receiver", "oncall", "--config", config]);
  return out + err;
}

const bodies = (server: ReceiverServer): readonly unknown[] =>
  server.requests.map(({ body }) => JSON.parse(body));

describe("a test message", () => {
  it("to PagerDuty is an alert that is resolved at once", async () => {
    const server = await startReceiverServer(status(202));
    const printed = await tryOut(server, { type: "pagerduty", routing_key: routingKey });
    expect(printed).toBe("oncall took the test message\n");
    const events = bodies(server).map((body) => pagerdutyEventSchema.parse(body));
    expect(events.map((event) => event.event_action)).toEqual(["trigger", "resolve"]);
    expect(new Set(events.map((event) => event.dedup_key)).size).toBe(1);
    expect(events[0]?.payload).toMatchObject({ severity: "info" });
  });

  it("in Alertmanager's form is an alert that is resolved at once", async () => {
    const server = await startReceiverServer();
    await tryOut(server, { type: "webhook", format: "alertmanager" });
    const messages = bodies(server).map((body) => alertmanagerMessageSchema.parse(body));
    expect(messages.map((message) => message.status)).toEqual(["firing", "resolved"]);
    expect(new Set(messages.map(({ alerts }) => alerts[0]?.fingerprint)).size).toBe(1);
    expect(new Set(server.ids()).size).toBe(2);
  });

  it("to Slack says that it is one", async () => {
    const server = await startReceiverServer();
    await tryOut(server, { type: "slack" });
    const [message] = bodies(server).map((body) => slackMessageSchema.parse(body));
    expect(message && shownBy(message).slice(0, 2)).toEqual([
      "🧪 Test (info): test",
      "A test message from sandwatch: this receiver works",
    ]);
    expect(server.requests).toHaveLength(1);
  });

  it("in a form of the user's own is one message", async () => {
    const server = await startReceiverServer();
    await tryOut(server, { type: "webhook", body: { text: "{type} {summary}{server_name}" } });
    expect(bodies(server)).toEqual([
      { text: "test A test message from sandwatch: this receiver works" },
    ]);
  });

  it("that is refused is told with its reason, and no secret", async () => {
    const server = await startReceiverServer(status(400));
    const settings = { type: "pagerduty", routing_key: routingKey };
    expect(await tryOut(server, settings)).toBe(
      "oncall did not take the test message: rejected (HTTP 400)\n",
    );
    expect(server.requests).toHaveLength(1);
  });

  it("to an unknown receiver is wrong use", async () => {
    const server = await startReceiverServer();
    expect(await tryOut(server, { type: "slack", name: "pager" })).toContain("Configured: pager.");
    expect(server.requests).toEqual([]);
  });
});
