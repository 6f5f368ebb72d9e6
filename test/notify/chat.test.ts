import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { Notification } from "../../src/alerts/notification.ts";
import { Secret } from "../../src/lib/secret.ts";
import { failed, type Receiver, type SendResult } from "../../src/notify/receiver.ts";
import { createChatReceiver } from "../../src/notify/receivers/chat-message.ts";
import { discord, discordMessage } from "../../src/notify/receivers/discord.ts";
import { ntfy, ntfyMessage } from "../../src/notify/receivers/ntfy.ts";
import { teams, teamsMessage } from "../../src/notify/receivers/teams.ts";
import { telegram, telegramMessage } from "../../src/notify/receivers/telegram.ts";
import { createFakeClock } from "../support/fake-clock.ts";
import { chatSchemas, shownByTelegram, startChatPeer } from "./support/chat-peers.ts";
import { incidentOf, startMs } from "./support/items.ts";
import { hostileTexts, notificationOf, reportOf, unsendableIn } from "./support/notifications.ts";
import { openOutbound } from "./support/outbound.ts";
import { startReceiverServer, status } from "./support/receiver-server.ts";

type Type = keyof typeof chatSchemas;
const types: readonly Type[] = ["discord", "teams", "telegram", "ntfy"];
const externalUrl = "https://sandwatch.example.com";
const topic = new Secret("T0PSECRET");

function open(type: Type, url: Secret): Receiver {
  const clock = createFakeClock();
  const deps = { clock, outbound: openOutbound(clock), externalUrl };
  const settings = { name: "oncall", url };
  switch (type) {
    case "discord":
      return createChatReceiver(discord, settings, deps);
    case "teams":
      return createChatReceiver(teams, settings, deps);
    case "telegram": {
      const botToken = new Secret("1:T0PSECRET");
      return createChatReceiver(
        telegram,
        { ...settings, botToken, chatId: "-1", topicId: 7 },
        deps,
      );
    }
    case "ntfy": {
      const headers = new Map([["authorization", new Secret("Bearer tk_1")]]);
      return createChatReceiver(ntfy, { ...settings, topic, headers }, deps);
    }
  }
}

const { signal } = new AbortController();

const messages: Readonly<Record<Type, (notification: Notification) => unknown>> = {
  discord: (each) => discordMessage(each, startMs, externalUrl),
  teams: (each) => teamsMessage(each, startMs, externalUrl),
  telegram: (each) => ({ chat_id: "-1", ...telegramMessage(each, startMs, externalUrl) }),
  ntfy: (each) => ({ topic: "t", ...ntfyMessage(each, startMs, externalUrl) }),
};

describe.each(types)("messages to %s", (type) => {
  it("are accepted by a peer that checks the documented limits, with 1, 5 and 300 incidents", async () => {
    const peer = await startChatPeer(type);
    const receiver = open(type, peer.url);
    for (const count of [1, 5, 300]) {
      const incidents = Array.from({ length: count }, (_, n) =>
        incidentOf({ id: `incident-${n}`, serverName: "é&<".repeat(20) }),
      );
      const sent = notificationOf({ incidents, runbookUrl: "https://runbooks.example/a?b=(c)" });
      expect(await receiver.send(sent, signal)).toEqual({ kind: "delivered" });
    }
    const [one, , many] = peer.requests;
    expect(one?.headers["content-type"]).toBe("application/json");
    expect(many?.body).toMatch(/… and \d+ more/);
  });

  it("keep every limit, and show names as they are, whatever these are", () => {
    const text = fc.oneof(
      fc.string({ unit: "binary" }),
      fc.constantFrom(...hostileTexts.map(([, each]) => each)),
    );
    const incident = fc
      .record({ serverName: text, serverId: text, sandboxId: text, acknowledgedBy: text })
      .map(incidentOf);
    const incidents = fc.array(incident, { maxLength: 30 });
    fc.assert(
      fc.property(text, incidents, fc.webUrl(), (summary, some, runbookUrl) => {
        const message = messages[type](notificationOf({ summary, incidents: some, runbookUrl }));
        expect(chatSchemas[type].safeParse(message).error).toBeUndefined();
        expect(unsendableIn(message)).toEqual([]);
      }),
      { numRuns: 40 },
    );
  });

  it("keep every limit with the rows of a report, and count those that do not fit", () => {
    const line = fc.oneof(
      fc.string({ unit: "binary", maxLength: 400 }),
      fc.constantFrom(...hostileTexts.map(([, each]) => each)),
    );
    const ofLines = (lines: readonly string[]): Notification => {
      const { report, ...rest } = reportOf(1, 7);
      return { ...rest, ...(report && { report: { ...report, lines } }) };
    };
    fc.assert(
      fc.property(fc.array(line, { maxLength: 110 }), (lines) => {
        const message = messages[type](ofLines(lines));
        expect(chatSchemas[type].safeParse(message).error).toBeUndefined();
        expect(unsendableIn(message)).toEqual([]);
      }),
      { numRuns: 20 },
    );
    const text = JSON.stringify(messages[type](ofLines(Array<string>(100).fill("a".repeat(300)))));
    expect(text).toContain(`… and ${107 - (text.split("• ").length - 1)} more`);
  });
});

describe("an answer of", () => {
  const rateLimited = '{"message":"You are being rate limited.","retry_after":1.5,"global":false}';
  const gone = '{"message":"Unknown Webhook T0PSECRET","code":10015}';
  const invalid = '{"code":50035,"message":"Invalid Form Body"}';
  const teamsText =
    "Webhook message delivery failed with error: Microsoft Teams endpoint returned HTTP error 429 with ContextId T0PSECRET";
  const ofTelegram = (error_code: number, description: string, parameters?: object) =>
    JSON.stringify({ ok: false, error_code, description, parameters });
  const delivered = { kind: "delivered" } as const;

  it.each<[Type, number, string, SendResult]>([
    ["discord", 200, '{"id":"1"}', delivered],
    ["discord", 429, rateLimited, failed("rate_limited", "HTTP 429", 1_500)],
    ["discord", 404, gone, failed("gone", "HTTP 404, code 10015")],
    ["discord", 400, invalid, failed("rejected", "HTTP 400, code 50035")],
    ["discord", 502, "<html>", failed("server_error", "HTTP 502")],
    ["teams", 202, "", delivered],
    ["teams", 200, teamsText, failed("rate_limited", "HTTP 429")],
    ["teams", 413, "", failed("rejected", "HTTP 413")],
    ["telegram", 200, '{"ok":true,"result":{}}', delivered],
    [
      "telegram",
      200,
      ofTelegram(429, "Too Many Requests: retry after 35", { retry_after: 35 }),
      failed("rate_limited", "HTTP 429", 35_000),
    ],
    [
      "telegram",
      400,
      ofTelegram(400, "Bad Request: chat not found"),
      failed("rejected", "HTTP 400 chat not found"),
    ],
    [
      "telegram",
      403,
      ofTelegram(403, "Forbidden: bot was kicked from the group chat"),
      failed("gone", "HTTP 403 bot was kicked"),
    ],
    [
      "telegram",
      400,
      ofTelegram(400, "Bad Request: group chat was upgraded to a supergroup chat", {
        migrate_to_chat_id: -1_001_234_567_890,
      }),
      failed(
        "rejected",
        "HTTP 400 group chat was upgraded to a supergroup chat; set chat_id to -1001234567890",
      ),
    ],
    ["telegram", 401, ofTelegram(401, "T0PSECRET"), failed("gone", "HTTP 401")],
    ["telegram", 200, '{"ok":false}', failed("rejected", "HTTP 400")],
    ["telegram", 502, "<html>", failed("server_error", "HTTP 502")],
    ["ntfy", 200, '{"id":"1"}', delivered],
    ["ntfy", 429, '{"code":42901}', failed("rate_limited", "HTTP 429")],
  ])("%s with %i %s is understood", async (type, code, text, result) => {
    const server = await startReceiverServer(status(code, {}, text));
    expect(await open(type, server.url).send(notificationOf(), signal)).toEqual(result);
  });
});

describe("a request to", () => {
  async function requestOf(type: Type) {
    const peer = await startChatPeer(type);
    await open(type, new Secret(`${peer.origin}/base?a=b`)).send(notificationOf(), signal);
    const [request] = peer.requests;
    if (!request) throw new Error("nothing was sent");
    return request;
  }

  it("Discord waits for the message to be posted", async () => {
    expect((await requestOf("discord")).path).toBe("/base?a=b&wait=true");
  });

  it("Telegram names the bot, the chat and the topic", async () => {
    const { path, body } = await requestOf("telegram");
    expect(path).toBe("/base/bot1:T0PSECRET/sendMessage?a=b");
    expect(JSON.parse(body)).toMatchObject({ chat_id: "-1", message_thread_id: 7 });
  });

  it("ntfy names the topic, and carries its token", async () => {
    const { headers, body } = await requestOf("ntfy");
    expect(headers.authorization).toBe("Bearer tk_1");
    expect(JSON.parse(body)).toMatchObject({ topic: "T0PSECRET", priority: 5 });
  });
});

describe("names from the service", () => {
  const name = "@admin /start <b>x</b> [a](https://evil.example) **b** ||c||";
  const notification = notificationOf({ incidents: [incidentOf({ serverName: name })] });

  it("are escaped for Discord", () => {
    const [embed] = discordMessage(notification, startMs).embeds;
    expect(embed?.description).toContain(
      String.raw`\@admin /start \<b\>x\</b\> \[a\](https\://evil.exampl`,
    );
  });

  it("are code for Telegram, in which nothing is a mention, a command or a link", () => {
    const { text } = telegramMessage(notification, startMs);
    expect(text).toMatch(/• <code>[^<]*@admin \/start &lt;b&gt;x&lt;\/b&gt; \[a\][^<]*<\/code>/);
    expect(shownByTelegram(text)).toContain("@admin /start <b>x</b>");
  });
});

it("a resolve is not urgent, and has no buttons for what is over", () => {
  const over = notificationOf({
    type: "incident.resolved",
    incidents: [
      incidentOf({ state: "resolved", resolvedAtMs: startMs, resolvedReason: "recovered" }),
    ],
  });
  expect(ntfyMessage(over, startMs, externalUrl)).toMatchObject({ priority: 3 });
  expect(ntfyMessage(over, startMs, externalUrl)).not.toHaveProperty("actions");
  expect(ntfyMessage(notificationOf(), startMs, externalUrl)).toMatchObject({
    click: `${externalUrl}/incidents/incident-1`,
    actions: [{ label: "Acknowledge" }, { label: "Silence" }, { label: "Runbook" }],
  });
});
