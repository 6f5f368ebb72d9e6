import { notifiedIncident } from "../../alerts/incident.ts";
import { incidentUrl, runbookUrl } from "../../alerts/links.ts";
import type { LabelsOf, Notification } from "../../alerts/notification.ts";
import { summarize } from "../../alerts/notification-summary.ts";
import { fillUrlTemplate } from "../../alerts/template.ts";
import { alertLabels, isoTime, shortTexts, stateFields, type Texts } from "./message-text.ts";
import type { NotifiedAlert, NotifiedAlerts } from "../../store/receiver-state.ts";
import { alertItem, withTexts, type CurrentAlert } from "./notified-alerts.ts";

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
  return withTexts(store, receiver, latest);
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

/** The watchdog's name for the loop in which an Alertmanager receiver posts all alerts again. */
export function repostName(receiver: string): string {
  return `${receiver} (alerts posted again)`;
}

/** Alertmanager resolves an alert that it has not received again for this long. */
const firingForMs = 5 * repostEveryMs;

/** @param externalUrl of sandwatch, whose pages annotations name; null: it is not known */
export function renderAlert(
  alert: CurrentAlert,
  nowMs: number,
  externalUrl: string | null = null,
  labelsOfKey: LabelsOf = () => ({}),
): PostableAlert {
  const { startedAtMs, resolvedAtMs } = alert.incident;
  // After the wall clock was set back, an alert must not end before it starts, which Alertmanager
  // rejects, nor be resolved in the future, until when it would be firing.
  const endMs = resolvedAtMs === null ? nowMs + firingForMs : Math.min(resolvedAtMs, nowMs);
  return {
    labels: labelsOf(alert, labelsOfKey),
    annotations: annotationsOf(alert, nowMs, externalUrl),
    startsAt: isoTime(Math.min(startedAtMs, nowMs, endMs)),
    endsAt: isoTime(endMs),
  };
}

/** Alerts of a test, which end after a minute: those that are resolved at once would be shown nowhere. */
export function renderTestAlerts(
  { rule, severity, summary, incidents }: Notification,
  nowMs: number,
): readonly PostableAlert[] {
  return incidents.map((incident) => ({
    labels: sendable(alertLabels(rule, severity, incident)),
    annotations: sendable({ summary }),
    startsAt: isoTime(nowMs),
    endsAt: isoTime(nowMs + repostEveryMs),
  }));
}

function labelsOf({ target, incident }: NotifiedAlert, labelsOfKey?: LabelsOf): Texts {
  const { rule, severity } = incident;
  const notified = notifiedIncident(target, incident, null);
  const labels = labelsOfKey?.(notified.key) ?? {};
  return sendable(alertLabels(rule, severity, { ...notified, labels }));
}

function annotationsOf(alert: CurrentAlert, nowMs: number, externalUrl: string | null): Texts {
  const item = alertItem(alert, nowMs);
  const { runbookUrlTemplate, incident } = item;
  const ownRunbook = runbookUrlTemplate && fillUrlTemplate(runbookUrlTemplate, [item]);
  return sendable({
    summary: summarize([item], null),
    runbook_url: runbookUrl(ownRunbook, incident, externalUrl),
    incident_id: incident.id,
    incident_url: externalUrl === null ? null : incidentUrl(externalUrl, incident.id),
    ...stateFields(incident),
  });
}

/** Text that is not valid Unicode would be rejected together with its whole request. */
function sendable(values: Readonly<Record<string, string | null>>): Texts {
  return shortTexts(values, longestValue);
}
