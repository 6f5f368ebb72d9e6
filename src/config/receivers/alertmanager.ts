import { z } from "zod";
import { Secret } from "../../lib/secret.ts";
import { parseBaseUrl, parseWebAddress } from "../address.ts";
import { scalar, settings } from "../fields.ts";
import { baseAddress, headerText, webAddress } from "../written.ts";
import { allowHttp, giveUpAfter, promptMessages, receiverName } from "./common.ts";

const urlAllowed =
  "an https address without user, password, query and fragment, such as https://alertmanager.example.com";

/** It is sent in a header, where anything but visible ASCII is refused or cut. */
const tokenAllowed =
  "a token of visible ASCII characters without blanks (numbers quoted), or bearer_token_file beside it";

export const alertmanagerSchema = settings(
  {
    name: receiverName(),
    type: z
      .literal("alertmanager")
      .describe("Alerts through API v2 of Alertmanager, sent again every minute while they fire."),
    urls: z
      .array(
        scalar(urlAllowed, (value) => {
          const url = typeof value === "string" ? parseBaseUrl(value) : undefined;
          return url === undefined ? undefined : new Secret(url);
        }).meta(baseAddress),
        "a list of the addresses of all instances",
      )
      .min(1, "the address of at least one instance")
      .meta({ uniqueItems: true })
      .describe(
        "The addresses of all Alertmanager instances, as in the configuration of Prometheus.",
      ),
    allow_http: allowHttp("urls"),
    give_up_after: giveUpAfter(),
    bearer_token: scalar(tokenAllowed, (value) =>
      typeof value === "string" && /^[\x21-\x7e]+$/.test(value) ? new Secret(value) : undefined,
    )
      .meta(headerText)
      .optional()
      .meta({ description: "A bearer token, for a proxy that requires one.", leftOut: "none" }),
    generator_url: scalar("an https or http address without user and password", (value) =>
      typeof value === "string" ? parseWebAddress(value)?.href : undefined,
    )
      .meta(webAddress)
      .optional()
      .meta({
        description: "The address that alerts link to, such as a dashboard.",
        leftOut: "none",
      }),
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

export type AlertmanagerConfig = Readonly<z.output<typeof alertmanagerSchema>>;
