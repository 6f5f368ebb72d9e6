import { z } from "zod";
import { duration, oneOf, settings } from "../fields.ts";
import { allowHttp, receiverName, receiverUrl } from "./common.ts";
import { promptMessages } from "./prompt-messages.ts";

export const heartbeatSchema = settings(
  {
    name: receiverName(),
    type: z
      .literal("heartbeat")
      .describe("Pings a dead-man's switch while sandwatch works. No rule can name it."),
    url: receiverUrl().describe("What is called. It is kept secret."),
    allow_http: allowHttp("url"),
    every: duration("10s", "1d").prefault("1m").describe("How often."),
    method: oneOf(["GET", "POST"]).prefault("GET").describe("The method of the request."),
  },
  ["url_file"],
).transform((receiver) => ({
  ...promptMessages,
  name: receiver.name,
  type: receiver.type,
  url: receiver.url,
  everyMs: receiver.every,
  giveUpAfterMs: receiver.every,
  method: receiver.method,
}));
