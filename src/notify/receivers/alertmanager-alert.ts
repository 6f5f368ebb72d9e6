import { conditionOfIncident } from "../../core/condition.ts";
import { tellIncident } from "../../core/incident.ts";
import type { Notification, OutboxItem, ToldIncident } from "../../core/notification.ts";
import { summarize } from "../../core/notification-summary.ts";
import { fillUrlTemplate } from "../../core/template.ts";
import type { AlertWords, ToldAlert } from "../told-alerts.ts";

/** An alert as the API v2 of Alertmanager takes it: `postableAlert` of its OpenAPI specification. */
export interface PostableAlert {
  readonly labels: Readonly<Record<string, string>>;
  readonly annotations: Readonly<Record<string, string>>;
  readonly startsAt: string;
  readonly endsAt: string;
  readonly generatorURL?: string;
}

/** Alerts are posted again this often. */
export const repostEveryMs = 60_000;

/** Alertmanager takes an alert for ended when it heard nothing of it for so long. */
const firingForMs = 5 * repostEveryMs;

/**
 * What makes an alert the same one: an incident has the same labels as long as it lasts, and so has
 * the next one of the same rule and subject. Empty ones are left out, as Alertmanager does.
 */
export function labelsOf({ target, incident }: ToldAlert): Readonly<Record<string, string>> {
  const told = tellIncident(target, incident, null);
  return filled({
    alertname: incident.rule,
    severity: incident.severity,
    subject: told.subject,
    region: told.region,
    key: told.key,
    sandbox_id: told.sandboxId,
    server_id: told.serverId,
    server_name: told.serverName,
    probe: told.probe,
    receiver: told.receiver,
  });
}

/** Ends by itself, and soon: it is there to see that alerts arrive. */
export function testAlert(
  { summary }: Notification,
  { nowMs, generatorUrl }: RenderOptions,
): PostableAlert {
  return {
    labels: { alertname: "sandwatch-test", severity: "info" },
    annotations: { summary },
    startsAt: new Date(nowMs).toISOString(),
    endsAt: new Date(nowMs + repostEveryMs).toISOString(),
    ...(generatorUrl !== null && { generatorURL: generatorUrl }),
  };
}

export interface RenderOptions {
  /** By the wall clock, UTC milliseconds. */
  readonly nowMs: number;
  /** What an alert links to; null: nothing. */
  readonly generatorUrl: string | null;
}

/** @param words null: nothing is kept of what was said of it */
export function renderAlert(
  alert: ToldAlert,
  words: AlertWords | null,
  { nowMs, generatorUrl }: RenderOptions,
): PostableAlert {
  const { startedAtMs, resolvedAtMs } = alert.incident;
  // A wall clock that was set back must not make an alert that ends before it starts, which is
  // refused, nor one that is over in the future, which fires until then.
  const endMs = resolvedAtMs === null ? nowMs + firingForMs : Math.min(resolvedAtMs, nowMs);
  const startMs = Math.min(startedAtMs, nowMs, endMs);
  return {
    labels: labelsOf(alert),
    annotations: annotationsOf(alert, words),
    startsAt: new Date(startMs).toISOString(),
    endsAt: new Date(endMs).toISOString(),
    ...(generatorUrl !== null && { generatorURL: generatorUrl }),
  };
}

function annotationsOf(
  { target, incident, acknowledgedBy }: ToldAlert,
  words: AlertWords | null,
): Readonly<Record<string, string>> {
  const told = tellIncident(target, incident, acknowledgedBy);
  const item: OutboxItem = {
    condition: conditionOfIncident(incident),
    summaryTemplate: null,
    runbookUrlTemplate: null,
    ...words,
    receiver: "",
    type: told.state === "firing" ? "incident.firing" : "incident.resolved",
    rule: incident.rule,
    severity: incident.severity,
    incident: told,
    causedAtMs: incident.startedAtMs,
  };
  return filled({
    summary: summarize([item]),
    runbook_url:
      item.runbookUrlTemplate === null ? null : fillUrlTemplate(item.runbookUrlTemplate, [item]),
    incident_id: incident.id,
    ...seen(told),
    acknowledged_by: acknowledgedBy,
  });
}

function seen(told: ToldIncident): Readonly<Record<string, string | null>> {
  return {
    status: told.status,
    previous_status: told.previousStatus,
    resolved_reason: told.resolvedReason,
    flapping: told.flapping ? "true" : null,
  };
}

/** Names come from the service: what is no Unicode would be refused with all that is sent with it. */
function filled(values: Readonly<Record<string, string | null>>): Readonly<Record<string, string>> {
  return Object.fromEntries(
    Object.entries(values).flatMap(([name, value]) =>
      value === null || value === "" ? [] : [[name, value.toWellFormed()]],
    ),
  );
}
