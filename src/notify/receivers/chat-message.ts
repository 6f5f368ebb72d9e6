import { messageLinks } from "../../alerts/links.ts";
import {
  endedUnobserved,
  isSilenced,
  type Notification,
  type NotifiedIncident,
} from "../../alerts/notification.ts";
import { placeText } from "../../alerts/subjects.ts";
import { readable } from "../../fleet/text.ts";
import type { Secret } from "../../lib/secret.ts";
import { parseReceiverUrl, type Answer, type SenderDeps } from "../outbound.ts";
import type { Receiver, SendResult } from "../receiver.ts";
import { commonLabels, incidentLine, runbookLink, shownSummary } from "./message-text.ts";

const icons = { critical: "🔴", warning: "🟠", info: "🔵" } as const;

/** What a message for people is about, in a few words: "🔴", "Firing". */
export function stateOf({ type, severity, incidents, stillFiring }: Notification) {
  const flapping = incidents.every((incident) => incident.flapping) ? ", flapping" : "";
  switch (type) {
    case "incident.firing":
      return { icon: icons[severity], title: `Firing${flapping}` };
    case "incident.reminder":
      return { icon: icons[severity], title: `Still firing${flapping}` };
    case "incident.acknowledged":
      return { icon: "👀", title: "Acknowledged" };
    case "incident.unacknowledged":
      return { icon: icons[severity], title: "Acknowledgement withdrawn" };
    case "incident.resolved":
      if (incidents.every(isSilenced)) return { icon: "🔕", title: "Silenced" };
      return incidents.some(endedUnobserved)
        ? { icon: "⚪", title: "Alert ended" }
        : stillFiring === undefined
          ? { icon: "✅", title: "Resolved" }
          : { icon: "🟡", title: "Partly resolved" };
    case "report":
      return { icon: "📊", title: "Report" };
    case "test":
      return { icon: "🧪", title: "Test" };
  }
}

/** Such as "🔴 Firing (critical): server-error, team=search". */
export function headingOf(notification: Notification, longest: number): string {
  const { icon, title } = stateOf(notification);
  const { type, severity, rule } = notification;
  const what = type === "report" ? title : `${title} (${severity})`;
  const labels = Object.entries(commonLabels(notification)).map(
    ([name, value]) => `${name}=${value}`,
  );
  return readable(`${icon} ${what}: ${[rule, ...labels].join(", ")}`, longest - 1);
}

/** A summary as it stands below a heading, which says already that it still fires. */
export function belowHeading(summary: string): string {
  return summary.replace(/^Still: /, "");
}

export interface Link {
  readonly text: string;
  readonly url: string;
}

/** Links to the pages of sandwatch and to the runbook, as far as there are any. */
export function linksOf(notification: Notification, externalUrl: string | null): readonly Link[] {
  const runbook = runbookLink(notification, externalUrl);
  return [
    ...(externalUrl === null ? [] : messageLinks(externalUrl, notification)),
    ...(runbook === null ? [] : [{ text: "Runbook", url: runbook }]),
  ];
}

/** The parts of a message in plain text, which each type of receiver escapes and lays out. */
export function chatMessage(notification: Notification, nowMs: number, externalUrl: string | null) {
  const state = stateOf(notification);
  const summary = shownSummary(notification, nowMs, longestSummary);
  return {
    ...state,
    heading: headingOf(notification, longestHeading),
    summary,
    text: belowHeading(summary),
    links: linksOf(notification, externalUrl),
    isOver: state.title === "Resolved" || state.title === "Alert ended",
  };
}

/** So short that escaped they keep the limits of every service. */
const longestHeading = 120;
const longestSummary = 600;
const longestLine = 300;

/** What a message lists: its incidents, or the lines of a report. */
export type Entry = NotifiedIncident | string;

export function entriesOf({ incidents, report }: Notification): readonly Entry[] {
  return report?.lines ?? incidents;
}

/**
 * Of an incident "n2jzzamr: github (89b179d4) in sandbox 1a4e5771: error, was occupied", and the times of the incident. The
 * region and key are where the summary says them of all, and the date where it is that of the message.
 */
export function entryText(
  entry: Entry,
  notification: Pick<Notification, "summary" | "causedAtMs">,
  escape: (text: string) => string = (text) => text,
  longest: number = longestLine,
): string {
  if (typeof entry === "string") return escape(readable(entry, longest));
  const { id, startedAtMs, resolvedAtMs } = entry;
  const hasPlace = !isPlaceSaid(entry, notification.summary);
  const line = escape(readable(`${id}: ${incidentLine(entry, hasPlace)}`, longest));
  const [today = ""] = utcText(notification.causedAtMs).split(" ");
  const isToday = [startedAtMs, resolvedAtMs ?? startedAtMs].every((utcMs) =>
    utcText(utcMs).startsWith(today),
  );
  const shown = (utcMs: number): string => utcText(utcMs).replace(isToday ? `${today} ` : "", "");
  const times =
    resolvedAtMs === null || isSilenced(entry)
      ? `since ${shown(startedAtMs)}`
      : `from ${shown(startedAtMs)} to ${shown(resolvedAtMs)}`;
  return `${line}; ${times}`;
}

/** Such as "in us/research": then it holds of all incidents of the message. */
function isPlaceSaid({ subject, ...incident }: NotifiedIncident, summary: string): boolean {
  const isListed = subject === "server" || subject === "sandbox";
  // Not "us/research-2" in place of "us/research".
  const place = new RegExp(`${RegExp.escape(` in ${placeText(incident)}`)}(?:[ ,:;.]|$)`);
  return isListed && place.test(summary);
}

/** Such as "2026-11-20 09:30:00 UTC". All times of a message are in one zone: that of its readers is not known. */
export function utcText(utcMs: number): string {
  return `${new Date(utcMs).toISOString().slice(0, 19).replace("T", " ")} UTC`;
}

/** Space for the line that counts the entries that do not fit. */
const moreSpace = 40;

/**
 * A line for each entry as long as there is space, and one that counts the others.
 *
 * @param sizeOf how much space a line takes
 */
export function linesWithin(
  notification: Notification,
  space: number,
  {
    textOf = (entry: Entry): string => entryText(entry, notification),
    sizeOf = (line: string): number => line.length + 1,
  } = {},
): readonly string[] {
  const entries = entriesOf(notification);
  const lines: string[] = [];
  let left = space - moreSpace;
  for (const entry of entries) {
    const line = `• ${textOf(entry)}`;
    left -= sizeOf(line);
    if (left < 0) break;
    lines.push(line);
  }
  const more = entries.length + notification.truncated - lines.length;
  return more === 0 ? lines : [...lines, `… and ${more} more`];
}

export function escapeHtml(text: string): string {
  return text
    .replaceAll("&", "&amp;")
    .replaceAll("<", "&lt;")
    .replaceAll(">", "&gt;")
    .replaceAll('"', "&quot;");
}

/** How messages for people are posted to a service. */
export interface ChatService<Own = unknown> {
  readonly restMs: number;
  /** Completes the configured address. */
  readonly address?: (url: URL, settings: ChatSettings & Own) => void;
  /** The body, as JSON. */
  readonly messageOf: (
    notification: Notification,
    nowMs: number,
    externalUrl: string | null,
    settings: ChatSettings & Own,
  ) => object;
  readonly readAnswer?: (answer: Answer) => SendResult;
}

interface ChatSettings {
  readonly name: string;
  readonly url: Secret;
  readonly headers?: ReadonlyMap<string, Secret>;
}

/** A receiver that posts each notification as one message for people. */
export function createChatReceiver<Own>(
  { restMs, address, messageOf, readAnswer }: ChatService<Own>,
  settings: ChatSettings & Own,
  { outbound, clock, externalUrl = null }: SenderDeps,
): Receiver {
  const { name, headers: secretHeaders } = settings;
  const url = parseReceiverUrl(settings);
  address?.(url, settings);
  const headers = { "content-type": "application/json" };
  return {
    name,
    restMs,
    send(notification, signal) {
      const message = messageOf(notification, clock.now().utcMs, externalUrl, settings);
      const request = { url, body: JSON.stringify(message), headers };
      return outbound.send(
        { ...request, ...(secretHeaders && { secretHeaders }) },
        signal,
        readAnswer,
      );
    },
  };
}
