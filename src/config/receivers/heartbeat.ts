import { z } from "zod";
import { duration, flag, name, oneOf, settings } from "../fields.ts";
import { receiverUrl } from "./common.ts";
import { promptMessages } from "./prompt-messages.ts";

export const heartbeatSchema = settings(
  {
    name: name(),
    type: z.literal("heartbeat"),
    url: receiverUrl(),
    allow_http: flag().default(false),
    every: duration("10s", "1d").default(60_000),
    method: oneOf(["GET", "POST"]).default("GET"),
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
