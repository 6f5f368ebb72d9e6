import { expect, it } from "vitest";
import { composeMessages } from "../../src/alerts/compose-messages.ts";
import type { Notification, OutboxItem } from "../../src/alerts/notification.ts";
import { fillBody } from "../../src/alerts/template.ts";
import { pagerdutyEvent } from "../../src/notify/receivers/pagerduty.ts";
import { slackMessage } from "../../src/notify/receivers/slack.ts";
import { alertmanagerBody, webhookBody } from "../../src/notify/receivers/webhook.ts";
import { outboxItem, startMs } from "./support/items.ts";

const names = ["github", "slack", "git", "jira", "calendar", null];
const nowMs = startMs + 12 * 60_000;

/** Servers of one region and key: all fail in one poll, and all recover in one. */
function items(count: number, type: OutboxItem["type"]): readonly OutboxItem[] {
  return Array.from({ length: count }, (_, n) =>
    outboxItem({
      type,
      causedAtMs: nowMs,
      incident: {
        id: `incident-${n}`,
        region: "eu",
        sandboxId: `sandbox-${n}`,
        serverName: names[Math.floor(Math.sqrt(n)) % names.length] ?? null,
        ...(type === "incident.resolved" && { resolvedAtMs: nowMs }),
      },
    }),
  );
}

/** The one message that they are, with the default settings of a receiver. */
function messageOf(count: number, type: OutboxItem["type"]): Notification {
  const stored = items(count, type).map((item, index) => ({ ...item, seq: index + 1 }));
  const settings = {
    groupBy: ["rule", "region", "key"],
    groupWaitMs: 0,
    groupIntervalMs: 0,
    groupLimit: 5,
    maxIncidents: 100,
  } as const;
  const { messages } = composeMessages(stored, settings, nowMs);
  expect(messages).toHaveLength(1);
  const [message] = messages;
  if (!message) throw new Error("no message");
  return { id: "msg_1", ...message.notification };
}

/** Long lists with their first items and the number of the others. */
function abridged(value: unknown): unknown {
  if (typeof value === "string" && value.split("\n").length > 4) {
    const lines = value.split("\n");
    return [...lines.slice(0, 2), `(${lines.length - 3} more lines)`, lines.at(-1)].join("\n");
  }
  if (typeof value !== "object" || value === null) return value;
  if (!Array.isArray(value))
    return Object.fromEntries(Object.entries(value).map(([name, each]) => [name, abridged(each)]));
  const shown = value.length > 8 ? [...value.slice(0, 1), value.at(-1)] : value;
  const list = shown.map(abridged);
  return shown === value ? list : [...list, `(${value.length - 2} more)`];
}

const formats: Readonly<Record<string, (notification: Notification) => unknown>> = {
  webhook: (notification) => webhookBody(notification, nowMs),
  "webhook-alertmanager": (notification) => alertmanagerBody(notification, nowMs),
  "webhook-body": (notification) =>
    fillBody({ text: "[{severity}] {summary}", servers: "{server_name}" }, notification, nowMs),
  slack: (notification) => slackMessage({ ...notification, ...named(notification, 20) }, nowMs),
  pagerduty: (notification) =>
    pagerdutyEvent(
      "0".repeat(32),
      notification.type === "incident.resolved" ? "resolve" : "trigger",
      "dedup-key",
      notification,
      nowMs,
    ),
};

function named({ incidents, truncated }: Notification, most: number) {
  const total = incidents.length + truncated;
  const some = incidents.slice(0, most);
  return { incidents: some, truncated: total - some.length };
}

it.each(Object.keys(formats))("messages of %s are those that were reviewed", async (format) => {
  const texts = ([1, 5, 300] as const).flatMap((count) =>
    (["incident.firing", "incident.resolved"] as const).map((type) => {
      const sent = formats[format]?.(messageOf(count, type));
      return `# ${count} ${type}\n${JSON.stringify(abridged(sent), null, 2)}\n`;
    }),
  );
  await expect(texts.join("\n")).toMatchFileSnapshot(`golden/${format}.txt`);
});
