import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { Notification } from "../../src/alerts/notification.ts";
import { requestTimeoutMs } from "../../src/notify/outbound.ts";
import { lookEveryMs } from "../../src/notify/pipeline.ts";
import type { DeliveryReceiver } from "../../src/notify/pipeline.ts";
import { failed } from "../../src/notify/receiver.ts";
import { createSlackReceiver, slackMessage } from "../../src/notify/receivers/slack.ts";
import { createFakeClock, type FakeClock } from "../support/fake-clock.ts";
import { oneByOne, openDelivery } from "./support/delivery.ts";
import { fire, resolve, startMs, toldIncident } from "./support/items.ts";
import { everySubject, hostileTexts, notificationOf } from "./support/notifications.ts";
import { resolvedIncident, textsIn, unsendable } from "./support/notifications.ts";
import { openOutbound } from "./support/outbound.ts";
import { startReceiverServer } from "./support/receiver-server.ts";
import type { Answer, ReceiverServer } from "./support/receiver-server.ts";
import { shownBy, slackMessageSchema, type SlackMessage } from "./support/slack-message.ts";

const never = new AbortController().signal;

function slackAt({ url }: ReceiverServer, clock: FakeClock = createFakeClock()): DeliveryReceiver {
  const outbound = openOutbound(clock);
  const receiver = createSlackReceiver({ name: "oncall", url }, { clock, outbound });
  return { ...oneByOne, receiver };
}

const says =
  (code: number, text: string, headers: Record<string, string> = {}): Answer =>
  (response) =>
    void response.writeHead(code, headers).end(text);

describe("a post to Slack", () => {
  it("is JSON in Block Kit, to the webhook's own URL", async () => {
    const server = await startReceiverServer(says(200, "ok"));
    const result = await slackAt(server).receiver.send(notificationOf(), never);
    expect(result).toEqual({ kind: "delivered" });
    const [request] = server.requests;
    expect(request?.headers["content-type"]).toBe("application/json; charset=utf-8");
    expect(request?.path).toBe("/hook/T0PSECRET?token=T0PSECRET");
    expect(() => slackMessageSchema.parse(JSON.parse(request?.body ?? ""))).not.toThrow();
  });

  it.each([
    [400, "invalid_blocks", "rejected"],
    [403, "action_prohibited", "rejected"],
    [403, "invalid_token", "gone"],
    [404, "no_service", "gone"],
    [410, "channel_is_archived", "gone"],
    [429, "rate_limited", "rate_limited"],
    [500, "rollup_error", "server_error"],
    [200, "channel_is_archived", "gone"],
  ] as const)("that is answered with %i %s failed: %s", async (code, text, reason) => {
    const server = await startReceiverServer(says(code, `${text}\n`));
    const result = await slackAt(server).receiver.send(notificationOf(), never);
    expect(result).toEqual(failed(reason, `HTTP ${code} ${text}`));
  });

  it("reports nothing of an answer that is not Slack's", async () => {
    const server = await startReceiverServer(says(403, "<html>T0PSECRET</html>"));
    const result = await slackAt(server).receiver.send(notificationOf(), never);
    expect(result).toEqual(failed("rejected", "HTTP 403"));
  });
});

describe("delivery to Slack", () => {
  it("sends one notification a second, in order, and sleeps in between", async () => {
    const server = await startReceiverServer(says(200, "ok"));
    const clock = createFakeClock();
    const setTimer = clock.setTimer.bind(clock);
    const delays = new Set<number>();
    clock.setTimer = (delayMs, callback) => {
      delays.add(delayMs);
      return setTimer(delayMs, callback);
    };
    const { notifier, insert } = openDelivery((c) => [slackAt(server, c)], { clock });
    await insert(fire("a"), fire("b"), resolve("a"), fire("c"));
    notifier.start();
    await notifier.runOnce();
    expect(delays).toEqual(new Set([1_000, requestTimeoutMs, lookEveryMs]));
    for (const sent of [1, 2, 3]) {
      expect(server.requests).toHaveLength(sent);
      clock.advance(999);
      await notifier.runOnce();
      expect(server.requests).toHaveLength(sent);
      clock.advance(1);
      await notifier.runOnce();
    }
    await notifier.stop({ graceMs: 0 });
    const headings = server.requests.map(
      ({ body }) => /"text":"(..? [A-Z]\w+) \(/u.exec(body)?.[1],
    );
    expect(headings).toEqual(["🔴 Firing", "🔴 Firing", "✅ Resolved", "🔴 Firing"]);
    expect(server.mostOpen).toBe(1);
    expect(clock.armed).toBe(0);
  });

  it("sends nothing at all for as long as Slack asks", async () => {
    const server = await startReceiverServer(says(429, "rate_limited", { "retry-after": "30" }));
    const { notifier, clock, store, insert } = openDelivery((c) => [slackAt(server, c)]);
    await insert(fire("a"), fire("b"));
    notifier.start();
    await notifier.runOnce();
    server.answerWith(says(200, "ok"));
    clock.advance(29_999);
    await notifier.runOnce();
    expect(server.requests).toHaveLength(1);
    clock.advance(1);
    await notifier.runOnce();
    clock.advance(1_000);
    await notifier.runOnce();
    expect(await store.states()).toEqual(["delivered", "delivered"]);
    await notifier.stop({ graceMs: 0 });
  });

  it("delays no other receiver", async () => {
    const [slack, other] = [await startReceiverServer(), await startReceiverServer()];
    const { notifier, insert } = openDelivery((clock) => {
      const { restMs: _, ...unpaced } = slackAt(other, clock).receiver;
      return [slackAt(slack, clock), { ...oneByOne, receiver: { ...unpaced, name: "other" } }];
    });
    const items = [fire("a"), fire("b"), fire("c")];
    await insert(...items, ...items.map((item) => ({ ...item, receiver: "other" })));
    await notifier.runOnce();
    expect(slack.requests).toHaveLength(1);
    expect(other.requests).toHaveLength(3);
  });
});

function messageOf(more: Partial<Notification> = {}, nowMs = startMs): SlackMessage {
  return slackMessageSchema.parse(
    JSON.parse(JSON.stringify(slackMessage(notificationOf(more), nowMs))),
  );
}

const at = (utcMs: number): string =>
  `<!date^${utcMs / 1_000}^{date_short_pretty} {time_secs}|${new Date(utcMs).toISOString()}>`;

describe("a Slack message", () => {
  it("says what happened, to what, since when, and what to do", () => {
    const message = messageOf({
      causedAtMs: startMs - 60_000,
      runbookUrl: "https://runbooks.example/errors?server=git hub&x=a|b",
      incidents: [toldIncident(), toldIncident({ id: "incident-2", serverName: null })],
    });
    expect(message.text).toBe("🔴 1 server in error in us (research): github");
    expect(shownBy(message)).toEqual([
      "🔴 Firing (critical): server-error",
      "1 server in error in us (research): github",
      "*severity*: critical | *region*: us | *key*: research",
      `• github (server-1) in sandbox sandbox-1 in us (research): error, was occupied; since ${at(startMs)}\n` +
        `• server-2 in sandbox sandbox-1 in us (research): error, was occupied; since ${at(startMs)}`,
      `<https://runbooks.example/errors?server=git%20hub&amp;x=a%7Cb|Runbook> | observed ${at(startMs - 60_000)} | sandwatch`,
    ]);
  });

  const resolved = (resolvedReason: "recovered" | "silenced"): Partial<Notification> => ({
    type: "incident.resolved",
    incidents: [resolvedIncident({ resolvedReason })],
  });

  it.each<[string, Partial<Notification>]>([
    ["🟠 Firing (warning)", { severity: "warning" }],
    ["🔵 Firing (info)", { severity: "info" }],
    ["🔴 Firing, flapping (critical)", { incidents: [toldIncident({ flapping: true })] }],
    ["🔴 Still firing (critical)", { type: "incident.reminder" }],
    ["👀 Acknowledged (critical)", { type: "incident.acknowledged" }],
    ["✅ Resolved (critical)", resolved("recovered")],
    ["⚪ Alert ended (critical)", resolved("silenced")],
    ["🧪 Test (info)", { type: "test", severity: "info", incidents: [] }],
  ])("has the heading %s", (heading, more) => {
    expect(shownBy(messageOf(more))[0]).toBe(`${heading}: server-error`);
  });

  it("states in its first line that it is late", () => {
    const message = messageOf({}, startMs + 125 * 60_000);
    const summary = "Late by 2h5m: 1 server in error in us (research): github";
    expect(message.text).toBe(`🔴 ${summary}`);
    expect(shownBy(message)[1]).toBe(summary);
  });

  it("shows the values it was grouped by, except the id of an incident", () => {
    const message = messageOf({ group: { server_name: "git", incident: "incident-1" } });
    expect(shownBy(message)[2]).toBe("*severity*: critical | *server name*: git");
  });

  it("describes incidents of every kind of subject, and who acknowledged them", () => {
    const incidents = [...everySubject, toldIncident({ acknowledgedBy: "<ada>" })];
    const list = shownBy(messageOf({ incidents }))[3]?.split("\n") ?? [];
    expect(list.map((line) => line.replace(/<!date[^>]*>/g, "T"))).toEqual([
      "• github (server-1) in sandbox sandbox-1 in us (research): error, was occupied; since T",
      "• server-1 in sandbox sandbox-1 in us (research): error, was absent; since T",
      "• github (server-1) in sandbox sandbox-1 in us (research): idle, was error, recovered; from T to T",
      "• us (research); since T",
      "• servers named github; since T",
      "• receiver pager; since T",
      "• github (server-1) in sandbox sandbox-1 in us (research): error, was occupied, acknowledged by &lt;ada&gt;; since T",
    ]);
  });

  it("counts the incidents that it has no room for", () => {
    const serverName = "&".repeat(1_000);
    const incidents = Array.from({ length: 10_000 }, () => toldIncident({ serverName }));
    const shown = shownBy(messageOf({ incidents, truncated: 7 }));
    const listed = shown.join("\n").split("\n• ").length - 1;
    expect(listed).toBeGreaterThan(40);
    expect(shown).toContain(`… and ${10_007 - listed} more`);
  });

  it.each(hostileTexts)("keeps every limit and its form with a server named by %s", (_, name) => {
    const hostile = toldIncident({
      serverName: name,
      serverId: name,
      sandboxId: name,
      acknowledgedBy: name,
    });
    const message = messageOf({
      summary: `1 server in error: ${name}`,
      group: { region: "us", server_name: name, sandbox_id: name },
      runbookUrl: `https://runbooks.example/${encodeURIComponent(name.toWellFormed())}`,
      incidents: [hostile, { ...hostile, id: "incident-2" }],
    });
    const texts = textsIn(message).map((text) => text.replaceAll("\n", " "));
    expect(texts.filter((text) => unsendable.test(text))).toEqual([]);
    // No command to Slack is left but the dates and the link that are meant.
    const commands = texts.flatMap((text) => text.match(/<[^>]*>/g) ?? []);
    expect(commands.filter((each) => !/^<(!date\^|https:\/\/runbooks)/.test(each))).toEqual([]);
  });

  it("keeps every limit for any names and any number of incidents", () => {
    const text = fc.oneof(
      fc.string({ unit: "binary" }),
      fc.constantFrom(...hostileTexts.map(([, each]) => each)),
    );
    const name = fc.option(text);
    const incident = fc
      .record({ serverName: name, serverId: name, sandboxId: name, acknowledgedBy: name })
      .map((fields) => toldIncident(fields));
    const incidents = fc.array(incident, { maxLength: 30 });
    fc.assert(
      fc.property(text, incidents, fc.webUrl(), (summary, some, runbookUrl) => {
        const more = { summary, incidents: some, runbookUrl, group: { server_name: summary } };
        expect(() => messageOf(more)).not.toThrow();
      }),
      { numRuns: 100 },
    );
  });
});
