import type { Notification, ToldIncident } from "../../core/notification.ts";
import { readable } from "../../core/readable.ts";
import { endedUnseen, incidentLine } from "./incident-line.ts";
import { runbookLink } from "./runbook-link.ts";
import { shortTexts, shownSummary } from "./texts.ts";

/** What Slack takes, by the reference of its Block Kit; in characters. */
const longestHeader = 150;
const longestText = 3_000;
/** Slack allows 50 blocks; those that are no list of incidents are fewer than ten. */
const mostLists = 40;

/** The longest thing that escaping makes of one character: `&amp;`. */
const longestEscape = 5;
const longestSummary = Math.floor(longestText / longestEscape) - 1;
const longestLine = 400;
const longestField = 200;

interface PlainText {
  readonly type: "plain_text";
  readonly text: string;
  readonly emoji: true;
}

interface Mrkdwn {
  readonly type: "mrkdwn";
  readonly text: string;
  /** Addresses, channels and people named in a text stay text. */
  readonly verbatim: true;
}

type Block =
  | { readonly type: "header"; readonly text: PlainText }
  | { readonly type: "section"; readonly text: Mrkdwn }
  | { readonly type: "section"; readonly fields: readonly Mrkdwn[] }
  | { readonly type: "context"; readonly elements: readonly Mrkdwn[] };

/**
 * A message for a Slack incoming webhook, in Block Kit. Whatever the service says, its limits are
 * kept, and nothing said becomes a link, a mention or an order to Slack.
 *
 * @param nowMs when the message is sent. UTC milliseconds
 */
export function renderSlackBody(notification: Notification, nowMs: number): string {
  const { mark, words } = heading(notification);
  const summary = escapeMrkdwn(shownSummary(notification, nowMs, longestSummary));
  const blocks: readonly Block[] = [
    header(`${mark} ${words} (${notification.severity}): ${notification.rule}`),
    section(summary),
    fields(notification),
    ...incidentLists(notification),
    context(notification),
  ];
  // Shown where there is no room for blocks, such as in a phone's notification.
  return JSON.stringify({ text: `${mark} ${summary}`, blocks });
}

const marks = { critical: "🔴", warning: "🟠", info: "🔵" } as const;

function heading({ type, severity, incidents }: Notification): {
  readonly mark: string;
  readonly words: string;
} {
  const flapping = incidents.some((incident) => incident.flapping) ? ", flapping" : "";
  switch (type) {
    case "incident.firing":
      return { mark: marks[severity], words: `Firing${flapping}` };
    case "incident.reminder":
      return { mark: marks[severity], words: `Still firing${flapping}` };
    case "incident.acknowledged":
      return { mark: "👀", words: "Acknowledged" };
    case "incident.resolved":
      return incidents.some(endedUnseen)
        ? { mark: "⚪", words: "Alert ended" }
        : { mark: "✅", words: "Resolved" };
    case "test":
      return { mark: "🧪", words: "Test" };
  }
}

function fields({ severity, group }: Notification): Block {
  const { incident: _, ...groupValues } = group;
  const shown = Object.entries(shortTexts({ severity, ...groupValues }, longestField));
  return {
    type: "section",
    fields: shown.map(([name, value]) =>
      mrkdwn(`*${name.replaceAll("_", " ")}*\n${escapeMrkdwn(value)}`),
    ),
  };
}

/** As many sections as the incidents need; what finds no room is counted. */
function incidentLists({ incidents, truncated }: Notification): readonly Block[] {
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

function listItem(incident: ToldIncident): string {
  const line = escapeMrkdwn(readable(incidentLine(incident), longestLine));
  const { startedAtMs, resolvedAtMs } = incident;
  const times =
    resolvedAtMs === null
      ? `since ${dateText(startedAtMs)}`
      : `from ${dateText(startedAtMs)} to ${dateText(resolvedAtMs)}`;
  return `• ${line}; ${times}`;
}

function context(notification: Notification): Block {
  const link = runbookLink(notification);
  const runbook = link === null ? [] : [`<${escapeMrkdwn(link).replaceAll("|", "%7C")}|Runbook>`];
  const texts = [...runbook, `seen ${dateText(notification.causedAtMs)}`, "sandwatch"];
  return { type: "context", elements: texts.map((text) => mrkdwn(text)) };
}

/** Slack shows it in each reader's own time zone. */
function dateText(utcMs: number): string {
  const iso = new Date(utcMs).toISOString();
  return `<!date^${Math.floor(utcMs / 1_000)}^{date_short_pretty} {time_secs}|${iso}>`;
}

function header(text: string): Block {
  const short = readable(text, longestHeader - 1);
  return { type: "header", text: { type: "plain_text", text: short, emoji: true } };
}

function section(text: string): Block {
  return { type: "section", text: mrkdwn(text) };
}

function mrkdwn(text: string): Mrkdwn {
  return { type: "mrkdwn", text, verbatim: true };
}

/** The three characters that Slack reads as its own. */
function escapeMrkdwn(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
}
