import { z } from "zod";
import { groupFields } from "../alerts/notification.ts";
import { Secret } from "../lib/secret.ts";
import { parseWebAddress, webAddressLike } from "./address.ts";
import { count, duration, eachOnce, flag, name, oneOf, optional } from "./fields.ts";
import { refuseUnencrypted, textOf } from "./fields.ts";
import { routing } from "./schema-routing.ts";

/** Kept secret, since it often holds what lets anyone write to the receiver. */
export const receiverUrl = textOf(
  "an https address without user and password, or url_file instead",
  webAddressLike,
  (text) => {
    const url = parseWebAddress(text);
    return url && new Secret(url.href);
  },
).describe("The address that messages are sent to. It is treated as a secret.");

export const refuseUnencryptedUrl = (
  { url, allowHttp: isAllowed }: { readonly url: Secret; readonly allowHttp: boolean },
  context: z.RefinementCtx,
): void => refuseUnencrypted(context, url.reveal(), isAllowed, "url");

export const receiver = <const Type extends string>(type: Type, description: string) => ({
  name: name().describe(
    "The name of the receiver in rules, commands and metrics. It must be unique.",
  ),
  type: z.literal(type).describe(description),
});

export const groupWaitMs = (usual: string) =>
  duration("0s")
    .prefault(usual)
    .describe("How long the first message of a group waits for more incidents.");

export const sendResolved = flag()
  .prefault(true)
  .describe("Whether resolved incidents are notified.");

export const sendAcknowledged = (usual: boolean) =>
  flag().prefault(usual).describe("Whether acknowledgements are notified.");

export const maxIncidents = (most: number, usual: number) =>
  count(1, most)
    .prefault(usual)
    .describe("The most incidents that a message names. Further ones are counted.");

export const giveUpAfterMs = duration("1m", "30d")
  .prefault("24h")
  .describe(
    "How long a message is retried before it is dead-lettered and the other receivers are notified.",
  );

/** How messages are made, where a receiver can have several incidents in one. */
export const messageSettings = {
  ...routing,
  groupBy: z
    .array(oneOf(groupFields), `a list of ${groupFields.join(", ")}`)
    .superRefine(eachOnce("each field once"))
    .readonly()
    .prefault(["rule", "region", "key"])
    .meta({ uniqueItems: true })
    .describe("Incidents with equal values of these fields are sent in one message."),
  groupWaitMs: groupWaitMs("5s"),
  groupIntervalMs: optional(
    duration("0s", "1d"),
    "the value of `group_wait`",
    "The least time between two messages of a group.",
  ),
  groupLimit: count(1, 1_000_000)
    .prefault(5)
    .describe(
      "If more incidents of one rule in one region and key than this are notified at once, they are sent in one message, whatever `group_by` is. So are the messages of one rule in one region, if there were more than this.",
    ),
  sendResolved,
  sendAcknowledged: sendAcknowledged(false),
  maxIncidents: maxIncidents(10_000, 100),
  giveUpAfterMs,
};

/** The settings with `groupIntervalMs`, which is optional. */
export function withInterval<
  Settings extends { readonly groupIntervalMs: number | null; readonly groupWaitMs: number },
>(settings: Settings) {
  return { ...settings, groupIntervalMs: settings.groupIntervalMs ?? settings.groupWaitMs };
}
