import { z } from "zod";
import { groupFields, type GroupField } from "../core/notification.ts";
import { Secret } from "../platform/secret.ts";
import { parseWebAddress } from "./address.ts";
import type { MessageConfig } from "./config.ts";
import { count, duration, flag, name, oneOf, scalar, settings } from "./fields.ts";

const webAddressAllowed = "an https address without user and password, or url_file beside it";

/** As the standardwebhooks package reads it, which throws for anything else when it signs. */
const signingSecretPattern =
  /^(?:whsec_)?((?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?)$/;

const signingSecretAllowed = "whsec_ and 24 to 64 bytes in padded base64, or secret_file beside it";

function readSigningSecret(value: unknown): Secret | undefined {
  const match = typeof value === "string" ? signingSecretPattern.exec(value) : null;
  const bytes = Buffer.from(match?.[1] ?? "", "base64").length;
  return match && bytes >= 24 && bytes <= 64 ? new Secret(match[0]) : undefined;
}

/** How messages are made, alike for every type of receiver. */
export const messageSettings = {
  group_by: z
    .array(oneOf(groupFields), `a list of ${groupFields.join(", ")}`)
    .readonly()
    .default(["rule", "region", "key"]),
  group_wait: duration("0s").default(5_000),
  group_interval: duration("0s", "1d").optional(),
  merge_above: count(1, 1_000_000).default(20),
  send_resolved: flag().default(true),
  send_acknowledged: flag().default(false),
  max_incidents: count(1, 10_000).default(100),
};

interface MessageSettings {
  readonly group_by: readonly GroupField[];
  readonly group_wait: number;
  readonly group_interval?: number | undefined;
  readonly merge_above: number;
  readonly send_resolved: boolean;
  readonly send_acknowledged: boolean;
  readonly max_incidents: number;
}

export function messagesOf(receiver: MessageSettings): MessageConfig {
  return {
    groupBy: receiver.group_by,
    groupWaitMs: receiver.group_wait,
    groupIntervalMs: receiver.group_interval ?? receiver.group_wait,
    mergeAbove: receiver.merge_above,
    sendResolved: receiver.send_resolved,
    sendAcknowledged: receiver.send_acknowledged,
    maxIncidents: receiver.max_incidents,
  };
}

const webhookSchema = settings(
  {
    name: name(),
    type: z.literal("webhook"),
    url: scalar(webAddressAllowed, (value) => {
      const url = typeof value === "string" ? parseWebAddress(value) : undefined;
      return url && new Secret(url.href);
    }),
    allow_http: flag().default(false),
    secret: scalar(signingSecretAllowed, readSigningSecret).optional(),
    ...messageSettings,
  },
  ["url_file", "secret_file"],
).transform((receiver) => ({
  name: receiver.name,
  type: receiver.type,
  url: receiver.url,
  secret: receiver.secret ?? null,
  ...messagesOf(receiver),
}));

export const receiverSchema = z.discriminatedUnion("type", [webhookSchema], {
  error: (issue) =>
    issue.code === "invalid_union"
      ? "webhook (this version does not know other types)"
      : "a mapping",
});
