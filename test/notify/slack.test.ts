import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { Notification } from "../../src/alerts/notification.ts";
import type { DeliveryReceiver } from "../../src/notify/pipeline.ts";
import { failed } from "../../src/notify/receiver.ts";
import { createChatReceiver } from "../../src/notify/receivers/chat-message.ts";
import { slack, slackMessage } from "../../src/notify/receivers/slack.ts";
import { createFakeClock, type FakeClock } from "../support/fake-clock.ts";
import { oneByOne, openDelivery } from "./support/delivery.ts";
import { fire, incidentOf, resolve, startMs } from "./support/items.ts";
import { everySubject, hostileTexts, notificationOf } from "./support/notifications.ts";
import { resolvedIncident, textsIn, unsendableIn } from "./support/notifications.ts";
import { openOutbound } from "./support/outbound.ts";
import { startReceiverServer, status, type ReceiverServer } from "./support/receiver-server.ts";
import { shownBy, slackMessageSchema, type SlackMessage } from "./support/slack-message.ts";

function slackAt({ url }: ReceiverServer, clock: FakeClock = createFakeClock()): DeliveryReceiver {
  const outbound = openOutbound(clock);
  return {
    ...oneByOne,
    receiver: createChatReceiver(slack, { name: "oncall", url }, { clock, outbound }),
  };
}

describe("a post to Slack", () => {
  it.each([
    [200, "ok", { kind: "delivered" }],
    [400, "invalid_blocks", failed("rejected", "HTTP 400 invalid_blocks")],
    [403, "invalid_token", failed("gone", "HTTP 403 invalid_token")],
    [429, "rate_limited", failed("rate_limited", "HTTP 429 rate_limited")],
    [200, "channel_is_archived", failed("gone", "HTTP 200 channel_is_archived")],
    [200, '{"ok":false,"error":"T0PSECRET"}', failed("rejected", "HTTP 200 ok: false")],
    [403, "<html>T0PSECRET</html>", failed("rejected", "HTTP 403")],
  ])("that is answered with %i %s is %j", async (code, text, result) => {
    const server = await startReceiverServer(status(code, {}, `${text}\n`));
    const { signal } = new AbortController();
    expect(await slackAt(server).receiver.send(notificationOf(), signal)).toEqual(result);
    expect(server.requests).toMatchObject([
      {
        path: "/hook/T0PSECRET?token=T0PSECRET",
        headers: { "content-type": "application/json" },
        body: JSON.stringify(slackMessage(notificationOf(), startMs)),
      },
    ]);
  });
});

describe("delivery to Slack", () => {
  it("sends one notification a second, in order", async () => {
    const server = await startReceiverServer(status(200, {}, "ok"));
    const { notifier, clock, insert, pass } = openDelivery((c) => [slackAt(server, c)]);
    await insert(fire("a"), fire("b"), resolve("a"), fire("c"));
    notifier.start();
    await notifier.runOnce();
    for (const sent of [1, 2, 3]) {
      await pass(999);
      expect(server.requests).toHaveLength(sent);
      await pass(1);
    }
    await notifier.stop({ graceMs: 0 });
    const headings = server.requests.map(
      ({ body }) => /"text":"(..? [A-Z]\w+) \(/u.exec(body)?.[1],
    );
    expect(headings).toEqual(["🔴 Firing", "🔴 Firing", "✅ Resolved", "🔴 Firing"]);
    expect([server.mostOpen, clock.armed]).toEqual([1, 0]);
  });
});

function messageOf(more: Partial<Notification> = {}, nowMs = startMs): SlackMessage {
  return slackMessageSchema.parse(slackMessage(notificationOf(more), nowMs));
}

const at = (utcMs: number): string =>
  `${new Date(utcMs).toISOString().slice(0, 19).replace("T", " ")} UTC`;

describe("a Slack message", () => {
  it("says what happened, to what, since when, and what to do", () => {
    const message = messageOf({
      causedAtMs: startMs - 60_000,
      runbookUrl: "https://runbooks.example/errors?server=git hub&x=a|b",
      incidents: [incidentOf(), incidentOf({ id: "incident-2", serverName: null })],
    });
    expect(message.text).toBe("🔴 1 github server in error in us/research since 09:30 UTC");
    expect(shownBy(message)).toEqual([
      "🔴 Firing (critical): server-error",
      "1 github server in error in us/research since 09:30 UTC",
      `• incident-1: github (server-1) in sandbox sandbox-1: error, was occupied; since 09:30:00 UTC\n` +
        `• incident-2: server-2 in sandbox sandbox-1: error, was occupied; since 09:30:00 UTC`,
      `<https://runbooks.example/errors?server=git%20hub&amp;x=a%7Cb|Runbook> | observed ${at(startMs - 60_000)} | sandwatch`,
    ]);
  });

  const resolved = (
    resolvedReason: "recovered" | "silenced" | "rule_removed",
  ): Partial<Notification> => ({
    type: "incident.resolved",
    incidents: [resolvedIncident({ resolvedReason })],
  });

  it.each<[string, Partial<Notification>]>([
    ["🟠 Firing (warning)", { severity: "warning" }],
    ["🔵 Firing (info)", { severity: "info" }],
    ["🔴 Firing, flapping (critical)", { incidents: [incidentOf({ flapping: true })] }],
    [
      "🔴 Firing (critical)",
      { incidents: [incidentOf({ flapping: true }), incidentOf({ id: "incident-2" })] },
    ],
    ["🟡 Partly resolved (critical)", { ...resolved("recovered"), stillFiring: 2 }],
    ["🔴 Still firing (critical)", { type: "incident.reminder" }],
    ["👀 Acknowledged (critical)", { type: "incident.acknowledged" }],
    ["✅ Resolved (critical)", resolved("recovered")],
    ["⚪ Alert ended (critical)", resolved("rule_removed")],
    ["🔕 Silenced (critical)", resolved("silenced")],
    ["🧪 Test (info)", { type: "test", severity: "info", incidents: [] }],
  ])("has the heading %s", (heading, more) => {
    expect(shownBy(messageOf(more))[0]).toBe(`${heading}: server-error`);
  });

  it("states that it is late", () => {
    const message = messageOf({}, startMs + 125 * 60_000);
    const summary = "Late by 2h5m: 1 github server in error in us/research since 09:30 UTC";
    expect(message.text).toBe(`🔴 ${summary}`);
    expect(shownBy(message)[1]).toBe(summary);
  });

  it("describes incidents of every kind of subject, and who acknowledged them", () => {
    const incidents = [...everySubject, incidentOf({ acknowledgedBy: "<ada>" })];
    const list = shownBy(messageOf({ incidents }))[2] ?? "";
    expect(list.replaceAll(/\d{4}-\d\d-\d\d [\d:]+ UTC/g, "T")).toMatchInlineSnapshot(`
      "• incident-1: github (server-1) in sandbox sandbox-1: error, was occupied; since 09:30:00 UTC
      • incident-1: server-1 in sandbox sandbox-1: error, was absent; since 09:30:00 UTC
      • incident-1: github (server-1) in sandbox sandbox-1: idle, was error, recovered; from 09:30:00 UTC to 09:31:00 UTC
      • incident-1: sandbox sandbox-1: error, was occupied; since 09:30:00 UTC
      • incident-1: us/research; since 09:30:00 UTC
      • incident-1: servers named github; since 09:30:00 UTC
      • incident-1: receiver pager; since 09:30:00 UTC
      • incident-1: github (server-1) in sandbox sandbox-1: error, was occupied, acknowledged by &lt;ada&gt;; since 09:30:00 UTC"
    `);
  });

  it("counts the incidents that do not fit", () => {
    const serverName = "&".repeat(1_000);
    const incidents = Array.from({ length: 10_000 }, () => incidentOf({ serverName }));
    const shown = shownBy(messageOf({ incidents, truncated: 7 }));
    const listed = shown.join("\n").split("\n• ").length - 1;
    expect(listed).toBeGreaterThan(40);
    expect(shown).toContain(`… and ${10_007 - listed} more`);
  });

  it("keeps every limit and its form, whatever names it contains", () => {
    const text = fc.oneof(
      fc.string({ unit: "binary" }),
      fc.constantFrom(...hostileTexts.map(([, each]) => each)),
    );
    const name = fc.option(text);
    const incident = fc
      .record({ serverName: name, serverId: name, sandboxId: name, acknowledgedBy: name })
      .map(incidentOf);
    const incidents = fc.array(incident, { maxLength: 30 });
    fc.assert(
      fc.property(text, incidents, fc.webUrl(), (summary, some, runbookUrl) => {
        const group = { region: "us", server_name: summary };
        const message = messageOf({ summary, incidents: some, runbookUrl, group });
        expect(unsendableIn(message)).toEqual([]);
        // No command to Slack is left but the dates and the link that are meant.
        const commands = textsIn(message).flatMap((each) => each.match(/<[^>]*>/g) ?? []);
        expect(commands.filter((each) => !/^<(!date\^|https?:\/\/)/.test(each))).toEqual([]);
      }),
      { numRuns: 200 },
    );
  });
});
