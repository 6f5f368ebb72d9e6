import { z } from "zod";
import type { Notification } from "../../alerts/notification.ts";
import { readAnswer, readJson, type Answer } from "../outbound.ts";
import type { SendResult } from "../receiver.ts";
import { chatMessage, entryText, linesWithin, utcText } from "./chat-message.ts";
import type { ChatService } from "./chat-message.ts";

export const discord: ChatService = {
  // Discord accepts 30 messages a minute in a channel.
  restMs: 2_000,
  // Otherwise Discord answers before it knows whether the message can be posted.
  address: (url) => url.searchParams.set("wait", "true"),
  messageOf: discordMessage,
  readAnswer: readDiscordAnswer,
};

const errorSchema = z.object({ code: z.int().optional(), retry_after: z.number().optional() });

/** Unknown channel, unknown webhook, invalid webhook token. */
const goneCodes = [10_003, 10_015, 50_027];

function readDiscordAnswer(answer: Answer): SendResult {
  const { code, retry_after: seconds } = readJson(answer, errorSchema) ?? {};
  const retryAfterMs = seconds === undefined ? answer.retryAfterMs : Math.ceil(seconds * 1_000);
  const result = readAnswer({ ...answer, retryAfterMs });
  if (result.kind !== "failed" || code === undefined || code === 0) return result;
  const reason = goneCodes.includes(code) ? "gone" : result.reason;
  return { ...result, reason, detail: `${result.detail}, code ${code}` };
}

/** Discord allows 2,000 characters of content, and 4,096 in the description of an embed. */
const longestDescription = 4_096;

const colors = { critical: 0xd9_2d_20, warning: 0xf7_90_09, info: 0x2e_90_fa } as const;
const overColor = 0x12_b7_6a;

/** An embed, with the summary as content for notifications on phones. Nothing in it mentions anyone. */
export function discordMessage(
  notification: Notification,
  nowMs: number,
  externalUrl: string | null = null,
) {
  const message = chatMessage(notification, nowMs, externalUrl);
  const links = message.links.map(({ text, url }) => `[${text}](${escapeUrl(url)})`);
  const linkLine = links.join("  ·  ");
  const lines = linesWithin(notification, longestDescription - linkLine.length - 1, {
    textOf: (entry) => entryText(entry, notification, escapeMarkdown),
  });
  return {
    content: `${message.icon} ${escapeMarkdown(message.summary)}`,
    embeds: [
      {
        title: escapeMarkdown(message.heading),
        description: [...lines, linkLine].filter((part) => part !== "").join("\n"),
        color: message.isOver ? overColor : colors[notification.severity],
        footer: { text: `sandwatch · ${utcText(notification.causedAtMs)}` },
      },
    ],
    allowed_mentions: { parse: [] },
  };
}

/** Colons, too: no address becomes a link, and no word an emoji. */
function escapeMarkdown(text: string): string {
  return text.replaceAll(/[\\*_~`|<>[\]@]|:(?=\S)/g, "\\$&");
}

function escapeUrl(url: string): string {
  return url.replaceAll("(", "%28").replaceAll(")", "%29");
}
