import { z } from "zod";
import { Secret } from "../../platform/secret.ts";
import { parseBaseUrl, parseWebAddress } from "../address.ts";
import { flag, name, scalar, settings } from "../fields.ts";
import { giveUpAfter } from "./common.ts";
import { promptMessages } from "./prompt-messages.ts";

const urlAllowed =
  "an https address without user, password, query and fragment, such as https://alertmanager.example.com";

/** It is sent in a header, where anything but visible ASCII is refused or cut. */
const tokenAllowed =
  "a token without blanks and control characters, or bearer_token_file beside it";

export const alertmanagerSchema = settings(
  {
    name: name(),
    type: z.literal("alertmanager"),
    urls: z
      .array(
        scalar(urlAllowed, (value) => {
          const url = typeof value === "string" ? parseBaseUrl(value) : undefined;
          return url === undefined ? undefined : new Secret(url);
        }),
        "a list of the addresses of all instances",
      )
      .min(1, "the address of at least one instance"),
    allow_http: flag().default(false),
    give_up_after: giveUpAfter(),
    bearer_token: scalar(tokenAllowed, (value) =>
      typeof value === "string" && /^[\x21-\x7e]+$/.test(value) ? new Secret(value) : undefined,
    ).optional(),
    generator_url: scalar("an https or http address without user and password", (value) =>
      typeof value === "string" ? parseWebAddress(value)?.href : undefined,
    ).optional(),
  },
  ["bearer_token_file"],
).transform((receiver) => ({
  ...promptMessages,
  name: receiver.name,
  type: receiver.type,
  urls: receiver.urls,
  giveUpAfterMs: receiver.give_up_after,
  bearerToken: receiver.bearer_token ?? null,
  generatorUrl: receiver.generator_url ?? null,
}));
