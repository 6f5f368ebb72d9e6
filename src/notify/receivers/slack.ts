import { z } from "zod";
import { messageLinks } from "../../alerts/links.ts";
import type { Notification } from "../../alerts/notification.ts";
import { readAnswer, readJson, type Answer } from "../outbound.ts";
import { failed, type SendResult } from "../receiver.ts";
import {
  belowHeading,
  entriesOf,
  entryText,
  headingOf,
  stateOf,
  utcText,
  type ChatService,
  type Entry,
  type Link,
} from "./chat-message.ts";
import { runbookLink, shownSummary } from "./message-text.ts";
import { slackErrors } from "./slack-api.ts";

export const slack: ChatService = {
  // Slack accepts about one message a second from an incoming webhook.
  restMs: 1_000,
  messageOf: (notification, nowMs, externalUrl) => slackMessage(notification, nowMs, externalUrl),
  readAnswer: readSlackAnswer,
};

/** What the Web API of Slack answers, whose methods are no incoming webhooks. */
const refusedSchema = z.object({ ok: z.literal(false) });

/**
 * Only a known text is reported: an unknown one could contain anything. A known text precedes the status, which proxies
 * and services that imitate Slack may leave at 200.
 */
function readSlackAnswer(answer: Answer): SendResult {
  const text = answer.text.trim();
  const reason = slackErrors.get(text);
  if (reason === undefined) {
    const result = readAnswer(answer);
    const isRefused = result.kind === "delivered" && readJson(answer, refusedSchema) !== null;
    return isRefused ? failed("rejected", `HTTP ${answer.status} ok: false`) : result;
  }
  return failed(reason, `HTTP ${answer.status} ${text}`, answer.retryAfterMs);
}

/** What Slack accepts, from the reference of its Block Kit; in characters. */
const longestHeader = 150;
const longestText = 3_000;
/** Slack allows 50 blocks, of which fewer than ten are not lists of incidents. */
const mostLists = 40;

/** Escaping makes at most five characters of one: `&amp;`. */
const longestEscape = 5;
const longestSummary = Math.floor(longestText / longestEscape) - 1;
const longestLine = 400;

/**
 * A message in Block Kit. Whatever the names are, it keeps Slack's limits, and nothing in them becomes a link, a mention
 * or a command.
 */
export function slackMessage(
  notification: Notification,
  nowMs: number,
  externalUrl: string | null = null,
  hasButtons = false,
) {
  const { icon } = stateOf(notification);
  const since = notification.type === "report" ? "as of" : "observed";
  const summary = escapeMrkdwn(shownSummary(notification, nowMs, longestSummary));
  const header = headingOf(notification, longestHeader);
  const linkTo = ({ text, url }: Link): string =>
    `<${escapeMrkdwn(url).replaceAll("|", "%7C")}|${text}>`;
  // Not buttons, which could only be links: Slack shows a warning beside one whose app does not answer clicks.
  const links = externalUrl === null ? [] : messageLinks(externalUrl, notification).map(linkTo);
  const link = runbookLink(notification, externalUrl);
  const runbook = link === null ? [] : [linkTo({ text: "Runbook", url: link })];
  const buttons = hasButtons ? (shownButtons.get(notification.type) ?? []) : [];
  const context = [...runbook, `${since} ${utcText(notification.causedAtMs)}`, "sandwatch"];
  return {
    // Shown where there are no blocks, such as in a phone's notification.
    text: `${icon} ${summary}`,
    blocks: [
      { type: "header", text: { type: "plain_text", text: header, emoji: true } },
      section(belowHeading(summary)),
      ...entryLists(notification).map(section),
      ...(links.length === 0 ? [] : [section(`*${links.join("  ·  ")}*`)]),
      ...(buttons.length === 0 ? [] : [{ type: "actions", elements: buttons.map(button) }]),
      { type: "context", elements: context.map(mrkdwn) },
    ],
  };
}

/** What a click on a button of a message does. */
const slackActions = ["acknowledge", "silence"] as const;
type SlackAction = (typeof slackActions)[number];

const buttonTexts: Readonly<Record<SlackAction, string>> = {
  acknowledge: "Acknowledge",
  silence: "Silence 1 h",
};

const shownButtons = new Map<Notification["type"], readonly SlackAction[]>([
  ["incident.firing", slackActions],
  ["incident.reminder", slackActions],
  ["incident.unacknowledged", slackActions],
  ["incident.acknowledged", ["silence"]],
]);

/** Without a value: a click is found by its message. */
function button(action: SlackAction) {
  const text = { type: "plain_text", text: buttonTexts[action], emoji: true };
  return { type: "button", action_id: action, text };
}

/** As many texts as the entries need; those that do not fit are counted. */
function entryLists(notification: Notification): readonly string[] {
  const entries = entriesOf(notification);
  const texts: string[] = [];
  let more = entries.length + notification.truncated;
  for (const entry of entries) {
    const line = listItem(entry, notification);
    const longer = texts.length === 0 ? line : `${texts.at(-1)}\n${line}`;
    if (texts.length > 0 && longer.length <= longestText) texts[texts.length - 1] = longer;
    else if (texts.length < mostLists) texts.push(line);
    else break;
    more -= 1;
  }
  return more === 0 ? texts : [...texts, `… and ${more} more`];
}

function listItem(entry: Entry, notification: Notification): string {
  return `• ${entryText(entry, notification, escapeMrkdwn, longestLine)}`;
}

function section(text: string) {
  return { type: "section", text: mrkdwn(text) };
}

/** URLs, channels and people named in the text remain text. */
function mrkdwn(text: string) {
  return { type: "mrkdwn", text, verbatim: true };
}

export function escapeMrkdwn(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
}

const longestClickText = 200;
const clickText = z.string().min(1).max(longestClickText);

/** Of what Slack sends of a click, what is used (https://docs.slack.dev/reference/interaction-payloads/block_actions-payload). */
const clickSchema = z.object({
  type: z.literal("block_actions"),
  user: z.object({ id: clickText, username: clickText.nullish(), name: clickText.nullish() }),
  container: z.object({ type: z.literal("message"), channel_id: clickText, message_ts: clickText }),
  actions: z.tuple(
    [z.object({ action_id: z.enum(slackActions), action_ts: z.string().regex(/^\d{1,12}\.\d+$/) })],
    z.unknown(),
  ),
});

export type SlackClick = NonNullable<ReturnType<typeof readSlackClick>>;

/** A click on a button of a message. Null: it is none of sandwatch. */
export function readSlackClick(payload: unknown) {
  const read = clickSchema.safeParse(payload);
  if (!read.success) return null;
  const { user, container, actions } = read.data;
  const { channel_id: channel, message_ts: ts } = container;
  const [{ action_id: action, action_ts: atText }] = actions;
  return {
    /** Of this click, however often it is sent. */
    id: `${channel} ${ts} ${user.id} ${action} ${atText}`,
    action,
    /** UTC milliseconds. */
    occurredAtMs: Math.round(Number(atText) * 1_000),
    user: { id: user.id, name: user.username ?? user.name ?? user.id },
    channel,
    ts,
  };
}
