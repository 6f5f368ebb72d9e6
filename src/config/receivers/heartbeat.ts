import { z } from "zod";
import { duration, oneOf, settings } from "../fields.ts";
import { allowHttp, promptMessages, receiverName, receiverUrl } from "./common.ts";

export const heartbeatSchema = settings(
  {
    name: receiverName(),
    type: z
      .literal("heartbeat")
      .describe("Pings a dead man's switch while sandwatch works. Rules cannot name it."),
    url: receiverUrl().describe("The address that is called. It is treated as a secret."),
    allow_http: allowHttp("url"),
    every: duration("10s", "1d").prefault("1m").describe("How often it is called."),
    method: oneOf(["GET", "POST"]).prefault("GET").describe("The HTTP method."),
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

export type HeartbeatConfig = Readonly<z.output<typeof heartbeatSchema>>;
