import { z } from "zod";
import { Secret } from "../lib/secret.ts";
import { actingUsers, refuseHalf } from "./acting-fields.ts";
import { baseUrlLike, parseBaseUrl, parseWebAddress, webAddressLike } from "./address.ts";
import { allowHttp, duration, eachOnce, notBoth, oneOf, optional, refuse } from "./fields.ts";
import { refuseUnencrypted, secretMatching, settings, textOf } from "./fields.ts";
import { giveUpAfterMs, groupWaitMs, messageSettings, receiver } from "./receiver-fields.ts";
import { receiverUrl, refuseUnencryptedUrl, sendAcknowledged } from "./receiver-fields.ts";
import { sendResolved, withInterval } from "./receiver-fields.ts";
import { requestHeaders, withHeaders } from "./request-headers.ts";
import { discordSchema, ntfySchema, slackAppSchema, slackSchema } from "./schema-chat-receivers.ts";
import { teamsSchema, telegramSchema } from "./schema-chat-receivers.ts";
import { emailSchema } from "./schema-email.ts";
import { routing } from "./schema-routing.ts";
import { bodySchema, signingSecretSchema } from "./webhook-fields.ts";

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

const webhookSchema = settings({
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
    "A custom body, sent as JSON. Its texts are Liquid templates. Cannot be combined with `format`.",
  ),
  ...requestHeaders,
  ...messageSettings,
})
  .meta({ allOf: [notBoth("format", "body"), notBoth("bearer_token", "basic_auth")] })
  .superRefine(refuseUnencryptedUrl)
  .transform(({ format, body, ...written }, context) => {
    if (format && body)
      refuse(context, "one of the two", { path: ["format"], found: "body as well" });
    const webhook = withHeaders(written, context);
    return { ...withInterval(webhook), format: format ?? "sandwatch", bodyTemplate: body };
  });

const pagerdutySchema = settings({
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
  webhookSecret: optional(
    secretMatching(
      "a signing secret of 16 to 200 characters without blanks, or webhook_secret_file instead",
      /^[\x21-\x7e]{16,200}$/,
    ),
    "none: what people do in PagerDuty changes nothing",
    "The signing secret of a webhook subscription (v3) of PagerDuty, by which people acknowledge incidents from there. Needs `users`.",
  ),
  users: optional(
    actingUsers(/^[A-Z0-9]{5,24}$/, "PXPGF42"),
    "nobody",
    "Who may act from PagerDuty: the names of users by their ids, such as `PXPGF42: ann`. Needs `webhook_secret`.",
  ),
  ...routing,
  groupWaitMs: groupWaitMs("0s"),
  sendResolved,
  sendAcknowledged: sendAcknowledged(true),
  giveUpAfterMs,
})
  .superRefine(refuseUnencryptedUrl)
  .superRefine(({ webhookSecret: secret, users }, context) =>
    refuseHalf("webhook_secret", { secret, users }, context),
  )
  .transform((pagerduty) => ({
    ...pagerduty,
    // The incidents of an alert, which are never merged with those of another one.
    groupBy: ["region", "key"] as const,
    groupIntervalMs: 0,
    groupLimit: Number.POSITIVE_INFINITY,
    keepsAlert: true,
    maxIncidents: 100,
  }));

const alertmanagerSchema = settings({
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
  ...routing,
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
})
  .meta({ allOf: [notBoth("bearer_token", "basic_auth")] })
  .transform((alertmanager, context) => {
    for (const [index, url] of alertmanager.urls.entries()) {
      refuseUnencrypted(context, url.reveal(), alertmanager.allowHttp, "urls", index);
    }
    return { ...promptMessages, ...withHeaders(alertmanager, context) };
  });

const heartbeatSchema = settings({
  ...receiver(
    "heartbeat",
    "Pings a dead man's switch while sandwatch works. Rules cannot name it.",
  ),
  url: receiverUrl.describe("The address that is called. It is treated as a secret."),
  allowHttp: allowHttp("url"),
  everyMs: duration("10s", "1d").prefault("1m").describe("How often it is called."),
  method: oneOf(["GET", "POST"]).prefault("GET").describe("The HTTP method."),
  ...requestHeaders,
})
  .meta({ allOf: [notBoth("bearer_token", "basic_auth")] })
  .superRefine(refuseUnencryptedUrl)
  .transform((heartbeat, context) => ({
    ...promptMessages,
    ...withHeaders(heartbeat, context),
    giveUpAfterMs: heartbeat.everyMs,
  }));

const types = [
  webhookSchema,
  slackSchema,
  slackAppSchema,
  discordSchema,
  teamsSchema,
  telegramSchema,
  ntfySchema,
  emailSchema,
  pagerdutySchema,
  alertmanagerSchema,
  heartbeatSchema,
] as const;

/** The settings of every type of receiver. */
export const receiverSchema = z.discriminatedUnion("type", types, {
  error: (issue) =>
    issue.code === "invalid_union"
      ? "webhook, slack, slack_app, discord, teams, telegram, ntfy, email, pagerduty, alertmanager, heartbeat"
      : "a mapping",
});

export type ReceiverConfig = Readonly<z.output<typeof receiverSchema>>;

/** Whether it can be sent reports: services that only know alerts cannot show them. */
export function takesReports(config: ReceiverConfig): boolean {
  const { type } = config;
  if (type === "webhook") return config.format !== "alertmanager";
  return type !== "pagerduty" && type !== "alertmanager" && type !== "heartbeat";
}

/** The settings of a receiver of one type. */
export type ConfigOf<Type extends ReceiverConfig["type"]> = Extract<
  ReceiverConfig,
  { readonly type: Type }
>;
