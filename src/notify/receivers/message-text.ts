import { latenessMs, summaryAt } from "../../alerts/notification.ts";
import type { Notification, NotifiedIncident } from "../../alerts/notification.ts";
import { runbookUrl } from "../../alerts/links.ts";
import { namedFacts, subjectText } from "../../alerts/subjects.ts";
import { readable, shownName, withoutMentions } from "../../fleet/text.ts";

export type Texts = Readonly<Record<string, string>>;

/** Names come from the service and can be anything: receivers get short texts that mention nobody, and no empty ones. */
export function shortTexts(
  values: Readonly<Record<string, string | null>>,
  longest: number,
): Texts {
  const texts = Object.entries(values).flatMap(([name, value]) =>
    value ? [[name, withoutMentions(readable(value, longest))]] : [],
  );
  return Object.fromEntries(texts);
}

/** What all have with the same value. */
export function inCommon([first = {}, ...others]: readonly Texts[]): Texts {
  return Object.fromEntries(
    Object.entries(first).filter(([name, value]) => others.every((other) => other[name] === value)),
  );
}

/** Never blank: a rule's own template may produce that, and receivers reject a message without text. */
export function shownSummary(notification: Notification, nowMs: number, longest: number): string {
  const summary = readable(summaryAt(notification, nowMs), longest);
  return summary.trim() === "" ? notification.rule : summary;
}

export function delayedSeconds(notification: Notification, nowMs: number): number | undefined {
  const lateMs = latenessMs(notification, nowMs);
  return lateMs === null ? undefined : Math.round(lateMs / 1_000);
}

export function isoTime(utcMs: number): string {
  return new Date(utcMs).toISOString();
}

/** A name that the rule's template put in can make a URL longer than receivers accept. */
const longestLink = 2_000;

/** The URL of the runbook of a notification's incidents; null: there is none. */
export function runbookFor(
  { type, runbookUrl: own, incidents }: Notification,
  externalUrl: string | null,
): string | null {
  return runbookUrl(own, type === "test" ? undefined : incidents[0], externalUrl);
}

/** The same; null also where it cannot be sent. */
export function runbookLink(notification: Notification, externalUrl: string | null): string | null {
  const url = runbookFor(notification, externalUrl);
  const link = url && URL.parse(url)?.href;
  return link && link.length <= longestLink ? link : null;
}

/**
 * What identifies an alert: an incident has the same labels as long as it lasts, and so has the next incident of the
 * same rule and subject.
 */
export function alertLabels(rule: string, severity: string, incident: NotifiedIncident) {
  const { subject, labels } = incident;
  return { ...labels, alertname: rule, severity, subject, ...namedFacts(incident) };
}

/** The state of an incident under the names that documents use. */
export function stateFields(incident: NotifiedIncident) {
  return {
    status: incident.status,
    previous_status: incident.previousStatus,
    resolved_reason: incident.resolvedReason,
    flapping: incident.flapping ? "true" : null,
    acknowledged_by: incident.acknowledgedBy,
  };
}

const resolvedText = {
  recovered: "recovered",
  gone: "gone",
  silenced: "silenced, still firing",
  rule_removed: "no rule applies to it any more",
} as const;

/**
 * What an incident is about and what was observed, without its times: "github (4f2a91c0) in sandbox 77ab in us/research:
 * error, was occupied".
 *
 * @param hasPlace whether it says in which region and key
 */
export function incidentLine(incident: NotifiedIncident, hasPlace = true): string {
  const { status, previousStatus, flapping, acknowledgedBy, resolvedReason } = incident;
  const notes = [
    previousStatus !== null && status !== null && `was ${previousStatus}`,
    flapping && "flapping",
    acknowledgedBy !== null && `acknowledged by ${shownName(acknowledgedBy)}`,
    resolvedReason !== null && resolvedText[resolvedReason],
  ];
  const observed = status === null ? "" : `: ${status}`;
  const facts = hasPlace ? incident : { ...incident, region: null, key: null };
  return [
    `${subjectText(incident.subject, facts)}${observed}`,
    ...notes.filter((note) => note !== false),
  ].join(", ");
}

/** An incident under the names that documents use. */
export function incidentFields(incident: NotifiedIncident) {
  const { receiver, probe, benchmark, ...facts } = namedFacts(incident);
  const { id, state, subject, startedAtMs, resolvedAtMs, flapping, acknowledgedBy } = incident;
  const { labels } = incident;
  return {
    id,
    state,
    subject,
    ...facts,
    status: incident.status,
    previous_status: incident.previousStatus,
    started_at: isoTime(startedAtMs),
    resolved_at: resolvedAtMs === null ? null : isoTime(resolvedAtMs),
    resolved_reason: incident.resolvedReason,
    ...(receiver !== null && { receiver }),
    ...(probe !== null && { probe }),
    ...(benchmark !== null && { benchmark }),
    ...(flapping && { flapping: true }),
    ...(acknowledgedBy !== null && { acknowledged_by: acknowledgedBy }),
    ...(labels && { labels }),
  };
}

/** What the labels of all its incidents have in common. */
export function commonLabels({ incidents }: Pick<Notification, "incidents">): Texts {
  return inCommon(incidents.map(({ labels = {} }) => labels));
}
