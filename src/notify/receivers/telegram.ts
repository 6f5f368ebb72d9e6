import { z } from "zod";
import type { Notification } from "../../alerts/notification.ts";
import type { ConfigOf } from "../../config/schema-receivers.ts";
import { readAnswer, readJson, type Answer } from "../outbound.ts";
import type { SendResult } from "../receiver.ts";
import { chatMessage, entryText, escapeHtml, linesWithin } from "./chat-message.ts";
import type { ChatService } from "./chat-message.ts";

export const telegram: ChatService<Pick<ConfigOf<"telegram">, "botToken" | "chatId" | "topicId">> =
  {
    // Telegram accepts 20 messages a minute in a group.
    restMs: 3_000,
    address(url, { botToken }) {
      url.pathname = `${url.pathname.replace(/\/$/, "")}/bot${botToken.reveal()}/sendMessage`;
    },
    messageOf: (notification, nowMs, externalUrl, { chatId, topicId }) => ({
      chat_id: chatId,
      ...(topicId !== null && { message_thread_id: topicId }),
      ...telegramMessage(notification, nowMs, externalUrl),
    }),
    readAnswer: readTelegramAnswer,
  };

const answerSchema = z.object({
  ok: z.boolean(),
  error_code: z.int().min(100).max(599).optional(),
  description: z.string().optional(),
  parameters: z
    .object({ retry_after: z.number().optional(), migrate_to_chat_id: z.int().optional() })
    .optional(),
});

/** What descriptions of errors that an operator can mend contain. Others could contain anything. */
const knownErrors = [
  "chat not found",
  "bot was blocked by the user",
  "bot was kicked",
  "bot is not a member",
  "not enough rights",
  "have no rights to send a message",
  "group chat was upgraded to a supergroup chat",
  "message thread not found",
  "message is too long",
];

/** The answer states whether the message was sent, whatever its status is. */
function readTelegramAnswer(answer: Answer): SendResult {
  const read = readJson(answer, answerSchema);
  if (!read || read.ok) return readAnswer(answer);
  const { error_code: status = 400, description, parameters } = read;
  const seconds = parameters?.retry_after;
  const retryAfterMs = seconds === undefined ? answer.retryAfterMs : seconds * 1_000;
  const result = readAnswer({ ...answer, status, retryAfterMs });
  if (result.kind !== "failed") return result;
  const known = knownErrors.find((each) => description?.includes(each));
  // A token that is not known any more; a bot that may not write to the chat.
  const reason = [401, 403, 404].includes(status) ? "gone" : result.reason;
  const newId = parameters?.migrate_to_chat_id;
  const detail = [
    result.detail,
    ...(known === undefined ? [] : [` ${known}`]),
    ...(newId === undefined ? [] : [`; set chat_id to ${newId}`]),
  ].join("");
  return { ...result, reason, detail };
}

/** In characters that are shown. */
const longestText = 4_096;

/** HTML in which the texts of the service are code: no name in them becomes a link, a mention or a command. */
export function telegramMessage(
  notification: Notification,
  nowMs: number,
  externalUrl: string | null = null,
) {
  const message = chatMessage(notification, nowMs, externalUrl);
  const head = `<b>${escapeHtml(message.heading)}</b>\n${code(message.text)}`;
  const links = message.links.map(({ text, url }) => `<a href="${escapeHtml(url)}">${text}</a>`);
  const linkLine = links.join("  ·  ");
  const space = longestText - shownLength(head) - shownLength(linkLine) - 2;
  const lines = linesWithin(notification, space, {
    textOf: (entry) => code(entryText(entry, notification)),
    sizeOf: (line) => shownLength(line) + 1,
  });
  return {
    text: [head, ...lines, linkLine].filter((part) => part !== "").join("\n"),
    parse_mode: "HTML",
    link_preview_options: { is_disabled: true },
  };
}

function shownLength(html: string): number {
  return html.replaceAll(/<[^>]*>/g, "").replaceAll(/&\w+;/g, "&").length;
}

function code(text: string): string {
  return `<code>${escapeHtml(text)}</code>`;
}
