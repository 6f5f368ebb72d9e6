import { conditionOfIncident, notifiedIncident, type Incident } from "../../alerts/incident.ts";
import { noTemplates, type Notification, type OutboxItem } from "../../alerts/notification.ts";
import { summarize } from "../../alerts/notification-summary.ts";
import { fillUrlTemplate } from "../../alerts/template.ts";
import type { Target } from "../../fleet/model.ts";
import { alertLabels, isoTime, shortTexts, stateFields, type Texts } from "./message-text.ts";

interface NotifiedAlert {
  /** Null for an incident of a pool or a receiver. */
  readonly target: Target | null;
  readonly incident: Incident;
  readonly acknowledgedBy: string | null;
}

/** The text of the last notification of an incident, besides the incident itself. */
type AlertText = Pick<OutboxItem, "condition" | "summaryTemplate" | "runbookUrlTemplate">;

/** What a receiver that is notified of states, not of changes, needs of the store. */
export interface NotifiedAlerts {
  /**
   * The incidents that the receiver was notified of and that are firing, or were resolved at or after a moment (UTC
   * milliseconds).
   *
   * @param about only these incidents and others of the same rules and subjects; the result may contain more
   */
  notifiedTo(
    receiver: string,
    resolvedSinceMs: number,
    about: readonly string[] | "all",
  ): Promise<readonly NotifiedAlert[]>;
  /** By incident id. Without incidents whose notifications are not kept any more. */
  textsOf(
    receiver: string,
    incidentIds: readonly string[],
  ): Promise<ReadonlyMap<string, AlertText>>;
}

export interface CurrentAlert extends NotifiedAlert {
  readonly text: AlertText | null;
}

/** Resolved alerts are posted for this long, for instances that were down when they ended. */
const resolvedForMs = 15 * 60_000;

/**
 * The alerts that a receiver's Alertmanagers must have at present: one for each set of labels. A firing incident
 * precedes a resolved one, and of several resolved ones the latest counts.
 *
 * @param about only the alerts of these incidents. Where a later incident of the same rule and subject has taken an
 *   alert over, the alert is that incident's
 */
export async function currentAlerts(
  store: NotifiedAlerts,
  receiver: string,
  nowMs: number,
  about: ReadonlySet<string> | "all",
): Promise<readonly CurrentAlert[]> {
  const asked = about === "all" ? about : [...about];
  const byLabels = new Map<string, NotifiedAlert>();
  const wanted = new Set<string>();
  for (const alert of await store.notifiedTo(receiver, nowMs - resolvedForMs, asked)) {
    const labels = JSON.stringify(labelsOf(alert));
    const known = byLabels.get(labels);
    if (!known || endOf(alert) >= endOf(known)) byLabels.set(labels, alert);
    if (about === "all" || about.has(alert.incident.id)) wanted.add(labels);
  }
  const latest = [...wanted].flatMap((labels) => byLabels.get(labels) ?? []);
  const texts = await store.textsOf(
    receiver,
    latest.map(({ incident }) => incident.id),
  );
  return latest.map((alert) => ({ ...alert, text: texts.get(alert.incident.id) ?? null }));
}

function endOf({ incident }: NotifiedAlert): number {
  return incident.resolvedAtMs ?? Infinity;
}

/** An alert as Alertmanager's API v2 accepts it: `postableAlert` of its OpenAPI specification. */
export interface PostableAlert {
  readonly labels: Texts;
  readonly annotations: Texts;
  readonly startsAt: string;
  readonly endsAt: string;
  readonly generatorURL?: string;
}

/** Longer than any name or link. */
const longestValue = 2_000;

/** Alerts are posted again at this interval. */
export const repostEveryMs = 60_000;

/** Alertmanager resolves an alert that it has not received again for this long. */
const firingForMs = 5 * repostEveryMs;

export function renderAlert(alert: CurrentAlert, nowMs: number): PostableAlert {
  const { startedAtMs, resolvedAtMs } = alert.incident;
  // After the wall clock was set back, an alert must not end before it starts, which Alertmanager
  // rejects, nor be resolved in the future, until when it would be firing.
  const endMs = resolvedAtMs === null ? nowMs + firingForMs : Math.min(resolvedAtMs, nowMs);
  return {
    labels: labelsOf(alert),
    annotations: annotationsOf(alert),
    startsAt: isoTime(Math.min(startedAtMs, nowMs, endMs)),
    endsAt: isoTime(endMs),
  };
}

/** A test alert that ends after a minute without a resolve. */
export function renderTestAlert({ summary }: Notification, nowMs: number): PostableAlert {
  return {
    labels: { alertname: "sandwatch-test", severity: "info" },
    annotations: { summary },
    startsAt: isoTime(nowMs),
    endsAt: isoTime(nowMs + repostEveryMs),
  };
}

function labelsOf({ target, incident }: NotifiedAlert): Texts {
  const { rule, severity } = incident;
  return sendable(alertLabels(rule, severity, notifiedIncident(target, incident, null)));
}

function annotationsOf({ target, incident, acknowledgedBy, text }: CurrentAlert): Texts {
  const notified = notifiedIncident(target, incident, acknowledgedBy);
  const item: OutboxItem = {
    condition: conditionOfIncident(incident),
    ...noTemplates,
    ...text,
    receiver: "",
    type: notified.state === "firing" ? "incident.firing" : "incident.resolved",
    rule: incident.rule,
    severity: incident.severity,
    incident: notified,
    causedAtMs: incident.startedAtMs,
  };
  const { runbookUrlTemplate } = item;
  return sendable({
    summary: summarize([item]),
    runbook_url: runbookUrlTemplate && fillUrlTemplate(runbookUrlTemplate, [item]),
    incident_id: incident.id,
    ...stateFields(notified),
  });
}

/** Text that is not valid Unicode would be rejected together with its whole request. */
function sendable(values: Readonly<Record<string, string | null>>): Texts {
  return shortTexts(values, longestValue);
}
