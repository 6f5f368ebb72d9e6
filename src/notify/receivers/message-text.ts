import { latenessMs, summaryAt } from "../../alerts/notification.ts";
import type { Notification, NotifiedIncident } from "../../alerts/notification.ts";
import { isBlank, longestName, readable } from "../../fleet/readable.ts";

/** What several types of receivers make of a notification. */
export type Texts = Readonly<Record<string, string>>;

/** Names come from the service and can be anything: receivers get short texts, and no empty ones. */
export function shortTexts(
  values: Readonly<Record<string, string | null>>,
  longest: number,
): Texts {
  return Object.fromEntries(
    Object.entries(values).flatMap(([name, value]) =>
      value === null || value === "" ? [] : [[name, readable(value, longest)]],
    ),
  );
}

/** Never blank: a rule's own template may produce that, and receivers reject a message without text. */
export function shownSummary(notification: Notification, nowMs: number, longest: number): string {
  const summary = readable(summaryAt(notification, nowMs), longest);
  return summary.trim() === "" ? notification.rule : summary;
}

/** Undefined: it is not late. */
export function delayedSeconds(notification: Notification, nowMs: number): number | undefined {
  const lateMs = latenessMs(notification, nowMs);
  return lateMs === null ? undefined : Math.round(lateMs / 1_000);
}

/** RFC 3339 with milliseconds. */
export function isoTime(utcMs: number): string {
  return new Date(utcMs).toISOString();
}

/** A name that the rule's template put in can make a URL longer than receivers accept. */
const longestLink = 2_000;

/** The URL of the runbook; null: there is none, or it cannot be sent. */
export function runbookLink({ runbookUrl }: Notification): string | null {
  const link = runbookUrl === null ? null : (URL.parse(runbookUrl)?.href ?? null);
  return link !== null && link.length <= longestLink ? link : null;
}

/** What an incident is about, under the names that documents use. */
export function subjectFields(incident: NotifiedIncident) {
  return {
    subject: incident.subject,
    region: incident.region,
    key: incident.key,
    sandbox_id: incident.sandboxId,
    server_id: incident.serverId,
    server_name: incident.serverName,
    probe: incident.probe,
    receiver: incident.receiver,
  };
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

/**
 * What an incident is about and what was observed, without its times: "github (4f2a91c0) in sandbox 77ab in us
 * (research): error, was occupied".
 */
export function incidentLine(incident: NotifiedIncident): string {
  return [`${subject(incident)}${observed(incident)}`, ...notes(incident)].join(", ");
}

function subject(incident: NotifiedIncident): string {
  const where = regionAndKey(incident);
  switch (incident.subject) {
    case "server": {
      const sandbox = `sandbox ${readable(incident.sandboxId ?? "", longestName)}`;
      return `${server(incident)} in ${[sandbox, where].filter(Boolean).join(" in ")}`;
    }
    case "target":
      return where;
    case "pool": {
      const name = incident.serverName;
      const servers = name === null ? "servers" : `servers named ${readable(name, longestName)}`;
      return where === "" ? servers : `${servers} in ${where}`;
    }
    case "probe":
      return [`probe ${incident.probe ?? ""}`, where].filter(Boolean).join(" in ");
    case "receiver":
      return `receiver ${incident.receiver ?? ""}`;
  }
}

function server({ serverName, serverId }: NotifiedIncident): string {
  const shortId = readable(serverId?.slice(0, 8) ?? "", 8);
  return serverName === null || isBlank(serverName)
    ? shortId
    : `${readable(serverName, longestName)} (${shortId})`;
}

function regionAndKey({ region, key }: NotifiedIncident): string {
  if (region === null) return key ?? "";
  return key === null ? region : `${region} (${key})`;
}

function observed({ status, previousStatus }: NotifiedIncident): string {
  if (status === null) return "";
  return previousStatus === null ? `: ${status}` : `: ${status}, was ${previousStatus}`;
}

function notes({ flapping, acknowledgedBy, resolvedReason }: NotifiedIncident): readonly string[] {
  return [
    ...(flapping ? ["flapping"] : []),
    ...(acknowledgedBy === null
      ? []
      : [`acknowledged by ${readable(acknowledgedBy, longestName)}`]),
    ...(resolvedReason === null ? [] : [resolvedText[resolvedReason]]),
  ];
}

const resolvedText = {
  recovered: "recovered",
  gone: "gone",
  silenced: "silenced",
  rule_removed: "no rule applies to it any more",
} as const;

/** Whether the incident ended although the end of its condition was not observed. */
export function endedUnobserved({ resolvedReason }: NotifiedIncident): boolean {
  return resolvedReason === "silenced" || resolvedReason === "rule_removed";
}
