import { z } from "zod";
import { settings } from "../fields.ts";
import { allowHttp, maxIncidents, messageSettings, messagesOf } from "./common.ts";
import { receiverName, receiverUrl, sendAcknowledged } from "./common.ts";

export const slackSchema = settings(
  {
    name: receiverName(),
    type: z.literal("slack").describe("Messages through a Slack incoming webhook."),
    url: receiverUrl(),
    allow_http: allowHttp("url"),
    ...messageSettings,
    send_acknowledged: sendAcknowledged(true),
    // More would not fit into a message, and nobody would read it.
    max_incidents: maxIncidents(100, 20),
  },
  ["url_file"],
).transform((receiver) => ({
  name: receiver.name,
  type: receiver.type,
  url: receiver.url,
  ...messagesOf(receiver),
}));

export type SlackConfig = Readonly<z.output<typeof slackSchema>>;
