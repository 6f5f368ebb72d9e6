import type { SlackConfig } from "../../config/receivers/slack.ts";
import type { Notification, NotifiedIncident } from "../../alerts/notification.ts";
import { readable } from "../../fleet/readable.ts";
import { parseReceiverUrl, readAnswer } from "../outbound.ts";
import type { Answer, SenderDeps } from "../outbound.ts";
import { failed } from "../receiver.ts";
import type { AttemptFailureReason, Receiver, SendResult } from "../receiver.ts";
import {
  endedUnobserved,
  incidentLine,
  runbookLink,
  shortTexts,
  shownSummary,
} from "./message-text.ts";

/** Slack accepts about one message a second from an incoming webhook. */
const restMs = 1_000;

/**
 * Posts notifications to a Slack incoming webhook.
 *
 * @throws {Error} when the URL cannot be used; the error does not contain it
 */
export function createSlackReceiver(
  settings: Pick<SlackConfig, "name" | "url">,
  { outbound, clock }: SenderDeps,
): Receiver {
  const url = parseReceiverUrl(settings);
  const headers = { "content-type": "application/json; charset=utf-8" };

  return {
    name: settings.name,
    restMs,
    send(notification, signal) {
      const body = renderSlackBody(notification, clock.now().utcMs);
      return outbound.send({ url, body, headers }, signal, readSlackAnswer);
    },
  };
}

/** What the error texts of Slack mean: whether a retry can help, and who must act. */
const errors = new Map<string, AttemptFailureReason>([
  ["invalid_payload", "rejected"],
  ["invalid_blocks", "rejected"],
  ["invalid_blocks_format", "rejected"],
  ["missing_text_or_fallback_or_attachments", "rejected"],
  ["no_text", "rejected"],
  ["too_many_attachments", "rejected"],
  ["action_prohibited", "rejected"],
  ["posting_to_general_channel_denied", "rejected"],
  ["user_not_found", "rejected"],
  ["invalid_token", "gone"],
  ["no_active_hooks", "gone"],
  ["no_service", "gone"],
  ["no_service_id", "gone"],
  ["no_team", "gone"],
  ["team_disabled", "gone"],
  ["channel_not_found", "gone"],
  ["channel_is_archived", "gone"],
  ["rate_limited", "rate_limited"],
  ["rollup_error", "server_error"],
]);

/**
 * Only a known text is reported: an unknown one could contain anything. A known text precedes the status, which proxies
 * and services that imitate Slack may leave at 200.
 */
function readSlackAnswer(answer: Answer): SendResult {
  const text = answer.text.trim();
  const reason = errors.get(text);
  if (reason === undefined) return readAnswer(answer);
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
const longestField = 200;

/**
 * A message in Block Kit. Whatever the names are, it keeps Slack's limits, and nothing in them becomes a link, a mention
 * or a command.
 *
 * @param nowMs when the notification is sent. UTC milliseconds
 */
export function renderSlackBody(notification: Notification, nowMs: number): string {
  const { icon, title } = heading(notification);
  const summary = escapeMrkdwn(shownSummary(notification, nowMs, longestSummary));
  const blocks = [
    header(`${icon} ${title} (${notification.severity}): ${notification.rule}`),
    section(summary),
    fields(notification),
    ...incidentLists(notification),
    context(notification),
  ];
  // Shown where there is no room for blocks, such as in a phone's notification.
  return JSON.stringify({ text: `${icon} ${summary}`, blocks });
}

const icons = { critical: "🔴", warning: "🟠", info: "🔵" } as const;

function heading({ type, severity, incidents }: Notification) {
  const flapping = incidents.some((incident) => incident.flapping) ? ", flapping" : "";
  switch (type) {
    case "incident.firing":
      return { icon: icons[severity], title: `Firing${flapping}` };
    case "incident.reminder":
      return { icon: icons[severity], title: `Still firing${flapping}` };
    case "incident.acknowledged":
      return { icon: "👀", title: "Acknowledged" };
    case "incident.resolved":
      return incidents.some(endedUnobserved)
        ? { icon: "⚪", title: "Alert ended" }
        : { icon: "✅", title: "Resolved" };
    case "test":
      return { icon: "🧪", title: "Test" };
  }
}

function fields({ severity, group }: Notification) {
  const { incident: _, ...groupValues } = group;
  const shown = Object.entries(shortTexts({ severity, ...groupValues }, longestField));
  return {
    type: "section",
    fields: shown.map(([name, value]) =>
      mrkdwn(`*${name.replaceAll("_", " ")}*\n${escapeMrkdwn(value)}`),
    ),
  };
}

/** As many sections as the incidents need; incidents that do not fit are counted. */
function incidentLists({ incidents, truncated }: Notification) {
  const texts: string[] = [];
  let left = incidents.length;
  for (const incident of incidents) {
    const line = listItem(incident);
    const text = texts.at(-1);
    const longer = text === undefined ? undefined : `${text}\n${line}`;
    if (longer !== undefined && longer.length <= longestText) texts[texts.length - 1] = longer;
    else if (texts.length < mostLists) texts.push(line);
    else break;
    left--;
  }
  const more = left + truncated;
  return [
    ...texts.map((text) => section(text)),
    ...(more === 0 ? [] : [section(`… and ${more} more`)]),
  ];
}

function listItem(incident: NotifiedIncident): string {
  const line = escapeMrkdwn(readable(incidentLine(incident), longestLine));
  const { startedAtMs, resolvedAtMs } = incident;
  const times =
    resolvedAtMs === null
      ? `since ${dateText(startedAtMs)}`
      : `from ${dateText(startedAtMs)} to ${dateText(resolvedAtMs)}`;
  return `• ${line}; ${times}`;
}

function context(notification: Notification) {
  const link = runbookLink(notification);
  const runbook = link === null ? [] : [`<${escapeMrkdwn(link).replaceAll("|", "%7C")}|Runbook>`];
  const texts = [...runbook, `observed ${dateText(notification.causedAtMs)}`, "sandwatch"];
  return { type: "context", elements: texts.map((text) => mrkdwn(text)) };
}

/** Slack shows it in each reader's own time zone. */
function dateText(utcMs: number): string {
  const iso = new Date(utcMs).toISOString();
  return `<!date^${Math.floor(utcMs / 1_000)}^{date_short_pretty} {time_secs}|${iso}>`;
}

function header(text: string) {
  const short = readable(text, longestHeader - 1);
  return { type: "header", text: { type: "plain_text", text: short, emoji: true } };
}

function section(text: string) {
  return { type: "section", text: mrkdwn(text) };
}

/** URLs, channels and people named in the text remain text. */
function mrkdwn(text: string) {
  return { type: "mrkdwn", text, verbatim: true };
}

/** The three characters that have a meaning to Slack. */
function escapeMrkdwn(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
}
