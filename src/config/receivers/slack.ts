import { z } from "zod";
import type { SlackReceiverConfig } from "../config.ts";
import { count, flag, name, settings } from "../fields.ts";
import { messageSettings, messagesOf, receiverUrl } from "./common.ts";

export const slackSchema = settings(
  {
    name: name(),
    type: z.literal("slack"),
    url: receiverUrl(),
    allow_http: flag().default(false),
    ...messageSettings,
    send_acknowledged: flag().default(true),
    // More would not fit into a message, and nobody would read it.
    max_incidents: count(1, 100).default(20),
  },
  ["url_file"],
).transform((receiver): SlackReceiverConfig => ({
  name: receiver.name,
  type: receiver.type,
  url: receiver.url,
  ...messagesOf(receiver),
}));
