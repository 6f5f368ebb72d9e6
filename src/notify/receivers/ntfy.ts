import type { Notification } from "../../alerts/notification.ts";
import type { ConfigOf } from "../../config/schema-receivers.ts";
import { chatMessage, linesWithin, type ChatService } from "./chat-message.ts";

export const ntfy: ChatService<Pick<ConfigOf<"ntfy">, "topic">> = {
  // A visitor of ntfy.sh has 60 requests, and another one every five seconds.
  restMs: 1_000,
  messageOf: (notification, nowMs, externalUrl, { topic }) => ({
    topic: topic.reveal(),
    ...ntfyMessage(notification, nowMs, externalUrl),
  }),
};

/** In bytes. ntfy makes an attachment of a longer message, and refuses twice as much JSON. */
const longestMessage = 4_096;

/** ntfy refuses a message with more. */
const mostActions = 3;

const priorities = { critical: 5, warning: 4, info: 3 } as const;
const usualPriority = 3;

/** A push notification: a tap opens the page of the incident, buttons those on which the reader can act. */
export function ntfyMessage(
  notification: Notification,
  nowMs: number,
  externalUrl: string | null = null,
) {
  const { type, severity } = notification;
  const { heading, text: summary, links } = chatMessage(notification, nowMs, externalUrl);
  const isUrgent = type === "incident.firing" || type === "incident.reminder";
  const [first, ...others] = links;
  const space = longestMessage - jsonBytes(summary);
  const lines = linesWithin(notification, space, {
    sizeOf: (line) => jsonBytes(line) + 1,
  });
  return {
    title: heading,
    message: [summary, ...lines].join("\n"),
    priority: isUrgent ? priorities[severity] : usualPriority,
    tags: ["sandwatch", severity],
    ...(first && { click: first.url }),
    ...(others.length > 0 && {
      actions: others
        .slice(0, mostActions)
        .map(({ text, url }) => ({ action: "view", label: text, url })),
    }),
  };
}

function jsonBytes(text: string): number {
  return Buffer.byteLength(JSON.stringify(text));
}
