import { z } from "zod";
import { groupFields } from "../alerts/notification.ts";
import { Secret } from "../lib/secret.ts";
import { baseUrlLike, parseBaseUrl, parseWebAddress, webAddressLike } from "./address.ts";
import { allowHttp, count, duration, eachOnce, flag, name, notBoth, oneOf } from "./fields.ts";
import { optional, refuse, refuseUnencrypted, secretMatching, settings, textOf } from "./fields.ts";
import { requestHeaderFiles, requestHeaders, withHeaders } from "./request-headers.ts";
import { bodySchema, signingSecretSchema } from "./webhook-fields.ts";

/** Kept secret, since it often holds what lets anyone write to the receiver. */
const receiverUrl = textOf(
  "an https address without user and password, or url_file instead",
  webAddressLike,
  (text) => {
    const url = parseWebAddress(text);
    return url && new Secret(url.href);
  },
).describe("The address that messages are sent to. It is treated as a secret.");

const refuseUnencryptedUrl = (
  { url, allowHttp: isAllowed }: { readonly url: Secret; readonly allowHttp: boolean },
  context: z.RefinementCtx,
): void => refuseUnencrypted(context, url.reveal(), isAllowed, "url");

const receiver = <const Type extends string>(type: Type, description: string) => ({
  name: name().describe(
    "The name of the receiver in rules, commands and metrics. It must be unique.",
  ),
  type: z.literal(type).describe(description),
});

const groupWaitMs = (usual: string) =>
  duration("0s")
    .prefault(usual)
    .describe("How long the first message of a group waits for more incidents.");

const sendResolved = flag().prefault(true).describe("Whether resolved incidents are notified.");

const sendAcknowledged = (usual: boolean) =>
  flag().prefault(usual).describe("Whether acknowledgements are notified.");

const maxIncidents = (most: number, usual: number) =>
  count(1, most)
    .prefault(usual)
    .describe("The most incidents that a message names. Further ones are counted.");

const giveUpAfterMs = duration("1m", "30d")
  .prefault("24h")
  .describe(
    "How long a message is retried before it is dead-lettered and the other receivers are notified.",
  );

/** How messages are made, where a receiver can have several incidents in one. */
const messageSettings = {
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

/** For a receiver that groups by itself or gets no incidents: notifications are sent at once and without grouping. */
const promptMessages = {
  groupBy: [],
  groupWaitMs: 0,
  groupIntervalMs: 0,
  groupLimit: 1,
  sendResolved: true,
  sendAcknowledged: true,
  maxIncidents: 100,
};

const webhookSchema = settings(
  {
    ...receiver("webhook", "JSON over HTTP, following Standard Webhooks."),
    url: receiverUrl,
    allowHttp: allowHttp("url"),
    secret: optional(
      signingSecretSchema,
      "none: messages are not signed",
      "The secret with which messages are signed, following Standard Webhooks.",
    ),
    format: optional(
      oneOf(["sandwatch", "alertmanager"]),
      "`sandwatch`, unless `body` is set",
      "The format of the body: sandwatch's own, or Alertmanager's webhook format.",
    ),
    body: optional(
      bodySchema,
      "none: `format` applies",
      "A custom body, sent as JSON with its placeholders filled in. Cannot be combined with `format`.",
    ),
    ...requestHeaders,
    ...messageSettings,
  },
  ["url_file", "secret_file", ...requestHeaderFiles],
)
  .meta({ allOf: [notBoth("format", "body"), notBoth("bearer_token", "basic_auth")] })
  .superRefine(refuseUnencryptedUrl)
  .transform(({ format, body, ...written }, context) => {
    if (format && body)
      refuse(context, "one of the two", { path: ["format"], found: "body as well" });
    const webhook = withHeaders(written, context);
    const groupIntervalMs = webhook.groupIntervalMs ?? webhook.groupWaitMs;
    return { ...webhook, format: format ?? "sandwatch", bodyTemplate: body, groupIntervalMs };
  });

const slackSchema = settings(
  {
    ...receiver("slack", "Messages through a Slack incoming webhook."),
    url: receiverUrl,
    allowHttp: allowHttp("url"),
    ...messageSettings,
    sendAcknowledged: sendAcknowledged(true),
    // More would not fit into a message.
    maxIncidents: maxIncidents(100, 20),
  },
  ["url_file"],
)
  .superRefine(refuseUnencryptedUrl)
  .transform((slack) => ({
    ...slack,
    groupIntervalMs: slack.groupIntervalMs ?? slack.groupWaitMs,
  }));

const pagerdutySchema = settings(
  {
    ...receiver(
      "pagerduty",
      "Events through Events API v2: the incidents of a rule in one region and key are one alert.",
    ),
    routingKey: secretMatching(
      "an integration key of 32 characters without blanks, or routing_key_file instead",
      /^[\x21-\x7e]{32}$/,
    ).describe("The integration key of a PagerDuty service with an Events API v2 integration."),
    url: receiverUrl
      .prefault("https://events.pagerduty.com/v2/enqueue")
      .describe(
        "The address that events are sent to. For the EU service region: `https://events.eu.pagerduty.com/v2/enqueue`.",
      ),
    allowHttp: allowHttp("url"),
    groupWaitMs: groupWaitMs("0s"),
    sendResolved,
    sendAcknowledged: sendAcknowledged(true),
    giveUpAfterMs,
  },
  ["url_file", "routing_key_file"],
)
  .superRefine(refuseUnencryptedUrl)
  .transform((pagerduty) => ({
    ...pagerduty,
    // The incidents of an alert, which are never merged with those of another one.
    groupBy: ["region", "key"] as const,
    groupIntervalMs: 0,
    groupLimit: Number.POSITIVE_INFINITY,
    maxIncidents: 100,
  }));

const alertmanagerSchema = settings(
  {
    ...receiver(
      "alertmanager",
      "Alerts through API v2 of Alertmanager, sent again every minute while they fire.",
    ),
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
    allowHttp: allowHttp("urls"),
    giveUpAfterMs,
    ...requestHeaders,
    generatorUrl: optional(
      textOf(
        "an https or http address without user and password",
        webAddressLike,
        (text) => parseWebAddress(text)?.href,
      ),
      "the page of the incident, if `http.external_url` is set",
      "The address that alerts link to, such as a dashboard.",
    ),
  },
  requestHeaderFiles,
)
  .meta({ allOf: [notBoth("bearer_token", "basic_auth")] })
  .transform((alertmanager, context) => {
    for (const [index, url] of alertmanager.urls.entries()) {
      refuseUnencrypted(context, url.reveal(), alertmanager.allowHttp, "urls", index);
    }
    return { ...promptMessages, ...withHeaders(alertmanager, context) };
  });

const heartbeatSchema = settings(
  {
    ...receiver(
      "heartbeat",
      "Pings a dead man's switch while sandwatch works. Rules cannot name it.",
    ),
    url: receiverUrl.describe("The address that is called. It is treated as a secret."),
    allowHttp: allowHttp("url"),
    everyMs: duration("10s", "1d").prefault("1m").describe("How often it is called."),
    method: oneOf(["GET", "POST"]).prefault("GET").describe("The HTTP method."),
    ...requestHeaders,
  },
  ["url_file", ...requestHeaderFiles],
)
  .meta({ allOf: [notBoth("bearer_token", "basic_auth")] })
  .superRefine(refuseUnencryptedUrl)
  .transform((heartbeat, context) => ({
    ...promptMessages,
    ...withHeaders(heartbeat, context),
    giveUpAfterMs: heartbeat.everyMs,
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
