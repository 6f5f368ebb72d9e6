import { actingUsers, refuseHalf } from "./acting-fields.ts";
import {
  allowHttp,
  count,
  matching,
  notBoth,
  optional,
  scalar,
  secretMatching,
  settings,
  textLike,
} from "./fields.ts";
import { maxIncidents, messageSettings, receiver, receiverUrl } from "./receiver-fields.ts";
import { refuseUnencryptedUrl, sendAcknowledged, withInterval } from "./receiver-fields.ts";
import { requestHeaders, withHeaders } from "./request-headers.ts";

/** How messages that people read are made. */
const chatMessages = {
  ...messageSettings,
  sendAcknowledged: sendAcknowledged(true),
  // More would not fit into a message.
  maxIncidents: maxIncidents(100, 20),
};

const webhookOf = <const Type extends string>(
  type: Type,
  description: string,
  ofOthers: Readonly<Record<string, string>> = {},
) =>
  settings(
    {
      ...receiver(type, description),
      url: receiverUrl,
      allowHttp: allowHttp("url"),
      ...chatMessages,
    },
    ofOthers,
  )
    .superRefine(refuseUnencryptedUrl)
    .transform(withInterval);

const noButtons =
  "this in a receiver of type slack_app, with token and channel: messages of an incoming webhook cannot have buttons";

export const slackSchema = webhookOf("slack", "Messages through a Slack incoming webhook.", {
  app_token: noButtons,
  app_token_file: noButtons,
  users: noButtons,
});

export const discordSchema = webhookOf(
  "discord",
  "Messages through a webhook of a Discord channel.",
);

export const teamsSchema = webhookOf(
  "teams",
  "Adaptive Cards through a workflow of Microsoft Teams.",
);

export const slackAppSchema = settings({
  ...receiver("slack_app", "Messages of a Slack app, which are changed and continued in threads."),
  token: secretMatching(
    "a bot token such as xoxb-123-abc, or token_file instead",
    /^xox[a-z]-[\w.-]{1,500}$/,
  ).describe("The bot token of the app."),
  channel: matching(
    "the id of a channel such as C0123456789, or its name such as #alerts",
    /^(?:[CGD][A-Z0-9]{2,20}|#?[^\s#@<>:,.A-Z]{1,80})$/,
  ).describe("The channel that the app writes to."),
  appToken: optional(
    secretMatching(
      "an app-level token such as xapp-1-A012-123-abc, or app_token_file instead",
      /^xapp-[\w.-]{1,500}$/,
    ),
    "none: messages have no buttons",
    "The app-level token of the app, by which people acknowledge and silence with buttons in its messages. Needs `users`.",
  ),
  users: optional(
    actingUsers(/^[UW][A-Z0-9]{2,23}$/, "U012AB3CD"),
    "nobody",
    "Who may act from Slack: the names of users by their member ids, such as `U012AB3CD: ann`. Needs `app_token`.",
  ),
  url: receiverUrl.prefault("https://slack.com/api/").describe("The address of Slack's Web API."),
  allowHttp: allowHttp("url"),
  ...chatMessages,
})
  .superRefine(refuseUnencryptedUrl)
  .superRefine(({ appToken: secret, users }, context) =>
    refuseHalf("app_token", { secret, users }, context),
  )
  .transform(withInterval);

const chatPattern = /^(?:-?[1-9]\d{0,18}|@[A-Za-z]\w{3,31})$/;

/** The id of a chat may be a number beyond those that every program reads exactly, so it can be quoted. */
const chatId = scalar(
  "the id of a chat such as -1001234567890, or the name of a channel such as @alerts",
  (value) => {
    const text = String(value);
    const isExact = typeof value === "string" || Number.isSafeInteger(value);
    return isExact && chatPattern.test(text) ? text : undefined;
  },
).meta({ ...textLike(chatPattern), type: ["string", "integer"] });

export const telegramSchema = settings({
  ...receiver("telegram", "Messages of a Telegram bot."),
  botToken: secretMatching(
    "the token of a bot such as 123456:ABC-DEF, or bot_token_file instead",
    /^\d{1,20}:[A-Za-z0-9_-]{1,100}$/,
  ).describe("The token of the bot."),
  chatId: chatId.describe("The chat that the bot writes to."),
  topicId: optional(count(1, 2 ** 31 - 1), "none", "The topic within a group that has topics."),
  url: receiverUrl.prefault("https://api.telegram.org/").describe("The address of the Bot API."),
  allowHttp: allowHttp("url"),
  ...chatMessages,
})
  .superRefine(refuseUnencryptedUrl)
  .transform(withInterval);

export const ntfySchema = settings({
  ...receiver("ntfy", "Push notifications through ntfy."),
  topic: secretMatching(
    "a topic of at most 64 letters, digits, _ and -, or topic_file instead",
    /^[\w-]{1,64}$/,
  ).describe("The topic. It is treated as a secret, as anyone who knows it can subscribe."),
  url: receiverUrl.prefault("https://ntfy.sh/").describe("The address of the ntfy server."),
  allowHttp: allowHttp("url"),
  ...requestHeaders,
  ...chatMessages,
})
  .meta({ allOf: [notBoth("bearer_token", "basic_auth")] })
  .superRefine(refuseUnencryptedUrl)
  .transform((ntfy, context) => withInterval(withHeaders(ntfy, context)));
