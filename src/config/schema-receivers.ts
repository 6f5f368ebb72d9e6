import { z } from "zod";
import { groupFields } from "../alerts/notification.ts";
import { Secret } from "../lib/secret.ts";
import { baseUrlLike, parseBaseUrl, parseWebAddress, webAddressLike } from "./address.ts";
import { allowHttp, count, duration, eachOnce, flag, headerPattern, name } from "./fields.ts";
import { notBoth, oneOf, refuse, refuseUnencrypted, settings, textOf } from "./fields.ts";
import { bodySchema, signingSecretSchema } from "./webhook-fields.ts";

const receiverName = name().describe(
  "The name of the receiver in rules, commands and metrics. It must be unique.",
);

/** Kept secret, since it often holds what lets anyone write to the receiver. */
const receiverUrl = textOf(
  "an https address without user and password, or url_file instead",
  webAddressLike,
  (text) => {
    const url = parseWebAddress(text);
    return url && new Secret(url.href);
  },
).describe("The address that messages are sent to. It is treated as a secret.");

const giveUpAfter = duration("1m", "30d")
  .prefault("24h")
  .describe(
    "How long a message is retried before it is dead-lettered and the other receivers are notified.",
  );

const sendResolved = flag().prefault(true).describe("Whether resolved incidents are notified.");

const sendAcknowledged = (usual: boolean) =>
  flag().prefault(usual).describe("Whether acknowledgements are notified.");

const maxIncidents = (most: number, usual: number) =>
  count(1, most)
    .prefault(usual)
    .describe("The most incidents that a message names. Further ones are counted.");

const groupWait = (usual: string) =>
  duration("0s")
    .prefault(usual)
    .describe("How long the first message of a group waits for more incidents.");

/** How messages are made, where a receiver can have several incidents in one. */
const messageSettings = {
  group_by: z
    .array(oneOf(groupFields), `a list of ${groupFields.join(", ")}`)
    .superRefine(eachOnce("each field once"))
    .readonly()
    .prefault(["rule", "region", "key"])
    .meta({ uniqueItems: true })
    .describe("Incidents with equal values of these fields are sent in one message."),
  group_wait: groupWait("5s"),
  group_interval: duration("0s", "1d").optional().meta({
    description: "The least time between two messages of a group.",
    leftOut: "the value of `group_wait`",
  }),
  merge_above: count(1, 1_000_000)
    .prefault(20)
    .describe(
      "If more servers, targets or probes than this are notified at once for one region, or for one pool whose own incident is notified with them, they are sent in one message. `group_by` has no effect on it.",
    ),
  send_resolved: sendResolved,
  send_acknowledged: sendAcknowledged(false),
  max_incidents: maxIncidents(10_000, 100),
  give_up_after: giveUpAfter,
};

function messagesOf(receiver: z.output<z.ZodObject<typeof messageSettings>>) {
  return {
    groupBy: receiver.group_by,
    groupWaitMs: receiver.group_wait,
    groupIntervalMs: receiver.group_interval ?? receiver.group_wait,
    mergeAbove: receiver.merge_above,
    sendResolved: receiver.send_resolved,
    sendAcknowledged: receiver.send_acknowledged,
    maxIncidents: receiver.max_incidents,
    giveUpAfterMs: receiver.give_up_after,
  };
}

/** How a receiver wants its messages. Durations are milliseconds. */
export type MessageConfig = Readonly<ReturnType<typeof messagesOf>>;

/** For a receiver that groups by itself, or is notified of no incident: everything, at once. */
const promptMessages: Omit<MessageConfig, "giveUpAfterMs"> = {
  groupBy: [],
  groupWaitMs: 0,
  groupIntervalMs: 0,
  mergeAbove: 1,
  sendResolved: true,
  sendAcknowledged: true,
  maxIncidents: 100,
};

/** What all receivers with one address have. */
function addressOf(
  receiver: { readonly name: string; readonly url: Secret; readonly allow_http: boolean },
  context: z.RefinementCtx,
) {
  refuseUnencrypted(context, receiver.url.reveal(), receiver.allow_http, "url");
  return { name: receiver.name, url: receiver.url };
}

const webhookSchema = settings(
  {
    name: receiverName,
    type: z.literal("webhook").describe("JSON over HTTP, following Standard Webhooks."),
    url: receiverUrl,
    allow_http: allowHttp("url"),
    secret: signingSecretSchema.optional().meta({
      description: "The secret with which messages are signed, following Standard Webhooks.",
      leftOut: "none: messages are not signed",
    }),
    format: oneOf(["sandwatch", "alertmanager"]).optional().meta({
      description: "The format of the body: sandwatch's own, or Alertmanager's webhook format.",
      leftOut: "`sandwatch`, unless `body` is set",
    }),
    body: bodySchema.optional().meta({
      description:
        "A custom body, sent as JSON with its placeholders filled in. Cannot be combined with `format`.",
      leftOut: "none: `format` applies",
    }),
    ...messageSettings,
  },
  ["url_file", "secret_file"],
)
  .meta({ allOf: [notBoth("format", "body")] })
  .transform((receiver, context) => {
    const { type, secret, format, body } = receiver;
    if (format !== undefined && body !== undefined) {
      refuse(context, "format or body, not both", { path: ["format"] });
    }
    return {
      ...addressOf(receiver, context),
      type,
      secret: secret ?? null,
      format: format ?? "sandwatch",
      bodyTemplate: body ?? null,
      ...messagesOf(receiver),
    };
  });

const slackSchema = settings(
  {
    name: receiverName,
    type: z.literal("slack").describe("Messages through a Slack incoming webhook."),
    url: receiverUrl,
    allow_http: allowHttp("url"),
    ...messageSettings,
    send_acknowledged: sendAcknowledged(true),
    // More would not fit into a message, and nobody would read it.
    max_incidents: maxIncidents(100, 20),
  },
  ["url_file"],
).transform((receiver, context) => ({
  ...addressOf(receiver, context),
  type: receiver.type,
  ...messagesOf(receiver),
}));

const pagerdutySchema = settings(
  {
    name: receiverName,
    type: z.literal("pagerduty").describe("Events through Events API v2, one alert per incident."),
    routing_key: textOf(
      "an integration key of 32 characters without blanks, or routing_key_file instead",
      /^[\x21-\x7e]{32}$/,
      (text) => (/^[\x21-\x7e]{32}$/.test(text) ? new Secret(text) : undefined),
    ).describe("The integration key of a PagerDuty service with an Events API v2 integration."),
    url: receiverUrl
      .prefault("https://events.pagerduty.com/v2/enqueue")
      .describe(
        "The address that events are sent to. For the EU service region: `https://events.eu.pagerduty.com/v2/enqueue`.",
      ),
    allow_http: allowHttp("url"),
    group_wait: groupWait("0s"),
    send_resolved: sendResolved,
    send_acknowledged: sendAcknowledged(true),
    give_up_after: giveUpAfter,
  },
  ["url_file", "routing_key_file"],
).transform((receiver, context) => ({
  ...addressOf(receiver, context),
  type: receiver.type,
  routingKey: receiver.routing_key,
  sendResolved: receiver.send_resolved,
  sendAcknowledged: receiver.send_acknowledged,
  giveUpAfterMs: receiver.give_up_after,
  // PagerDuty does the grouping itself, of alerts that are one incident each.
  groupBy: ["incident"] as const,
  groupWaitMs: receiver.group_wait,
  groupIntervalMs: 0,
  mergeAbove: Number.POSITIVE_INFINITY,
  maxIncidents: 1,
}));

const alertmanagerSchema = settings(
  {
    name: receiverName,
    type: z
      .literal("alertmanager")
      .describe("Alerts through API v2 of Alertmanager, sent again every minute while they fire."),
    urls: z
      .array(
        textOf(
          "an https address without user, password, query and fragment, such as https://alertmanager.example.com",
          baseUrlLike,
          (text) => {
            const url = parseBaseUrl(text);
            return url === undefined ? undefined : new Secret(url);
          },
        ),
        "a list of the addresses of all instances",
      )
      .superRefine(eachOnce("each once", (url) => url.reveal()))
      .min(1, "the address of at least one instance")
      .meta({ uniqueItems: true })
      .describe(
        "The addresses of all Alertmanager instances, as in the configuration of Prometheus.",
      ),
    allow_http: allowHttp("urls"),
    give_up_after: giveUpAfter,
    bearer_token: textOf(
      "a token of visible ASCII characters without blanks (numbers quoted), or bearer_token_file instead",
      headerPattern,
      (text) => (headerPattern.test(text) ? new Secret(text) : undefined),
    )
      .optional()
      .meta({ description: "A bearer token, for a proxy that requires one.", leftOut: "none" }),
    generator_url: textOf(
      "an https or http address without user and password",
      webAddressLike,
      (text) => parseWebAddress(text)?.href,
    )
      .optional()
      .meta({
        description: "The address that alerts link to, such as a dashboard.",
        leftOut: "none",
      }),
  },
  ["bearer_token_file"],
).transform((receiver, context) => {
  for (const [index, url] of receiver.urls.entries()) {
    refuseUnencrypted(context, url.reveal(), receiver.allow_http, "urls", index);
  }
  return {
    ...promptMessages,
    name: receiver.name,
    type: receiver.type,
    urls: receiver.urls,
    giveUpAfterMs: receiver.give_up_after,
    bearerToken: receiver.bearer_token ?? null,
    generatorUrl: receiver.generator_url ?? null,
  };
});

const heartbeatSchema = settings(
  {
    name: receiverName,
    type: z
      .literal("heartbeat")
      .describe("Pings a dead man's switch while sandwatch works. Rules cannot name it."),
    url: receiverUrl.describe("The address that is called. It is treated as a secret."),
    allow_http: allowHttp("url"),
    every: duration("10s", "1d").prefault("1m").describe("How often it is called."),
    method: oneOf(["GET", "POST"]).prefault("GET").describe("The HTTP method."),
  },
  ["url_file"],
).transform((receiver, context) => ({
  ...promptMessages,
  ...addressOf(receiver, context),
  type: receiver.type,
  everyMs: receiver.every,
  giveUpAfterMs: receiver.every,
  method: receiver.method,
}));

/** The settings of every type of receiver. */
export const receiverSchema = z.discriminatedUnion(
  "type",
  [webhookSchema, slackSchema, pagerdutySchema, alertmanagerSchema, heartbeatSchema],
  {
    error: (issue) =>
      issue.code === "invalid_union"
        ? "webhook, slack, pagerduty, alertmanager, heartbeat"
        : "a mapping",
  },
);

export type ReceiverConfig = Readonly<z.output<typeof receiverSchema>>;

/** The settings of a receiver of one type. */
export type ConfigOf<Type extends ReceiverConfig["type"]> = Extract<
  ReceiverConfig,
  { readonly type: Type }
>;
