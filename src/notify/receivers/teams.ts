import type { Notification } from "../../alerts/notification.ts";
import { readAnswer, type Answer } from "../outbound.ts";
import type { SendResult } from "../receiver.ts";
import { chatMessage, linesWithin, type ChatService } from "./chat-message.ts";

export const teams: ChatService = {
  // Teams accepts a few messages a second in a channel.
  restMs: 1_000,
  messageOf: teamsMessage,
  readAnswer: readTeamsAnswer,
};

/** A connector answers 200 when Teams itself refused the message, and says so in the text. */
function readTeamsAnswer(answer: Answer): SendResult {
  const [, status] = /\bHTTP error (\d{3})\b/.exec(answer.text) ?? [];
  return readAnswer(status === undefined ? answer : { ...answer, status: Number(status) });
}

/** Teams refuses more than 28 KB. */
const longestBody = 28_000;

/**
 * An Adaptive Card. Its texts are runs, in which Markdown has no meaning, and it has no entities, without which nobody is
 * mentioned.
 */
export function teamsMessage(
  notification: Notification,
  nowMs: number,
  externalUrl: string | null = null,
) {
  const { heading, text: summary, links, isOver } = chatMessage(notification, nowMs, externalUrl);
  const colors = { critical: "attention", warning: "warning", info: "accent" } as const;
  const color = isOver ? "good" : colors[notification.severity];
  const message = (incidents: readonly object[]) => ({
    type: "message",
    attachments: [
      {
        contentType: "application/vnd.microsoft.card.adaptive",
        contentUrl: null,
        content: {
          $schema: "http://adaptivecards.io/schemas/adaptive-card.json",
          type: "AdaptiveCard",
          version: "1.4",
          msteams: { width: "Full" },
          body: [
            text(heading, { size: "large", weight: "bolder", color }),
            text(summary),
            ...incidents,
            text("sandwatch", { size: "small", isSubtle: true }),
          ],
          actions: links.map((link) => ({
            type: "Action.OpenUrl",
            title: link.text,
            url: link.url,
          })),
        },
      },
    ],
  });
  const bytesOf = (value: unknown): number => Buffer.byteLength(JSON.stringify(value)) + 1;
  const more = bytesOf(text(""));
  const space = longestBody - bytesOf(message([])) - more;
  const lines = linesWithin(notification, space, { sizeOf: (line) => bytesOf(text(line)) });
  return message(lines.map((line) => text(line)));
}

function text(content: string, style: Readonly<Record<string, string | boolean>> = {}) {
  return { type: "RichTextBlock", inlines: [{ type: "TextRun", text: content, ...style }] };
}
