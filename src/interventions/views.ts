import { z } from "zod";
import type { Silence } from "../core/silence.ts";
import { isInForce } from "../core/silence.ts";
import { subjectKinds } from "../core/notification.ts";
import type { StoredIncident } from "../store/incident-history.ts";
import { tellIncident } from "../core/incident.ts";
import { matchFields, writeMatch } from "../core/written-match.ts";
import type { AttemptRecord, NotificationRecord } from "../store/dead-letters.ts";
import type { TimedWindow } from "./windows.ts";

/**
 * What the desk answers, as it goes over the wire and as commands print it with --json: times are
 * texts in UTC, and what there is not is null.
 */

/** In UTC, as ISO 8601 has it. */
export const time = z.string().meta({ format: "date-time" });
export const nullableTime = time.nullable();
export const nullableText = z.string().nullable();
const lists = z.array(z.string()).readonly();

export const silenceView = z.object({
  id: z.string(),
  /** `maintenance` is a window of the configuration: this opening of it, or the next one. */
  kind: z.enum(["silence", "maintenance"]),
  state: z.enum(["in_force", "to_come", "ended"]),
  match: z.partialRecord(z.enum(matchFields), lists),
  author: nullableText,
  reason: nullableText,
  created_at: nullableTime,
  starts_at: time,
  ends_at: time,
});
export type SilenceView = z.output<typeof silenceView>;

/** What is allowed in a request, but hardly meant, such as a name that nothing has. */
export const notes = z.array(z.string()).readonly();

export const addedSilenceView = silenceView.extend({ notes });
export type AddedSilenceView = z.output<typeof addedSilenceView>;

export const silencesView = z.object({
  silences: z.array(silenceView).readonly(),
  /** `before` of the request for what follows; null: that is all. */
  next: nullableText,
});
export type SilencesView = z.output<typeof silencesView>;

export const acknowledgementView = z.object({
  incident_id: z.string(),
  author: z.string(),
  note: nullableText,
  acknowledged_at: time,
  /** Somebody had done so before: this is what that one said. */
  already: z.boolean(),
});
export type AcknowledgementView = z.output<typeof acknowledgementView>;

export const incidentView = z.object({
  id: z.string(),
  rule: z.string(),
  severity: z.string(),
  state: z.enum(["pending", "firing", "resolved"]),
  /** Whether it fires and a silence keeps it from being told. */
  muted: z.boolean(),
  flapping: z.boolean(),
  subject: z.enum(subjectKinds),
  region: nullableText,
  key: nullableText,
  sandbox_id: nullableText,
  server_id: nullableText,
  server_name: nullableText,
  probe: nullableText,
  receiver: nullableText,
  status: nullableText,
  previous_status: nullableText,
  started_at: time,
  fired_at: nullableTime,
  resolved_at: nullableTime,
  resolved_reason: nullableText,
  receivers: lists,
  acknowledged_by: nullableText,
  acknowledged_at: nullableTime,
  note: nullableText,
});
export type IncidentView = z.output<typeof incidentView>;

export const notificationView = z.object({
  seq: z.number(),
  id: z.string(),
  receiver: z.string(),
  state: z.enum(["pending", "delivered", "dead", "discarded"]),
  type: z.string(),
  rule: z.string(),
  severity: z.string(),
  summary: z.string(),
  caused_at: time,
  created_at: time,
  attempts: z.number(),
  last_reason: nullableText,
  settled_at: nullableTime,
});
export type NotificationView = z.output<typeof notificationView>;

export const notificationsView = z.object({
  notifications: z.array(notificationView).readonly(),
  next: nullableText,
  notes,
});
export type NotificationsView = z.output<typeof notificationsView>;

export const attemptView = z.object({
  at: time,
  /** Null, like the detail: the receiver took it. */
  reason: nullableText,
  detail: nullableText,
});

/** One notification, with every attempt that was kept, oldest first. */
export const notificationDetailView = notificationView.extend({
  attempt_list: z.array(attemptView).readonly(),
});
export type NotificationDetailView = z.output<typeof notificationDetailView>;

/** How many notifications it concerned. */
export const countView = z.object({ count: z.number(), notes });
export type CountView = z.output<typeof countView>;

export const timelineEvent = z.object({
  at: time,
  event: z.string(),
  text: z.string(),
  incident_id: nullableText,
  notification_id: nullableText,
});
export type TimelineEvent = z.output<typeof timelineEvent>;

export const explanationView = z.object({
  server_id: z.string(),
  server_name: nullableText,
  /** Where it is listed now; empty: nowhere. */
  listed: z
    .array(
      z.object({
        region: z.string(),
        key: z.string(),
        sandbox_id: z.string(),
        status: z.string(),
        since: time,
      }),
    )
    .readonly(),
  /** Oldest first. */
  events: z.array(timelineEvent).readonly(),
  /** Whether there was more than is shown: what is left out is the oldest. */
  truncated: z.boolean(),
});
export type ExplanationView = z.output<typeof explanationView>;

export function timeText(utcMs: number): string;
export function timeText(utcMs: number | null): string | null;
export function timeText(utcMs: number | null): string | null {
  return utcMs === null ? null : new Date(utcMs).toISOString();
}

export function viewSilence(
  silence: Silence & { readonly createdAtMs: number },
  nowMs: number,
): SilenceView {
  return {
    id: silence.id,
    kind: "silence",
    state: isInForce(silence, nowMs) ? "in_force" : silence.endsAtMs <= nowMs ? "ended" : "to_come",
    match: writeMatch(silence.match),
    author: silence.author,
    reason: silence.reason,
    created_at: timeText(silence.createdAtMs),
    starts_at: timeText(silence.startsAtMs),
    ends_at: timeText(silence.endsAtMs),
  };
}

/** What ids of maintenance windows begin with, so that nobody takes them for silences. */
export const maintenancePrefix = "maintenance:";

/** The opening that it is in, or its next one; empty: it opens no more. */
export function viewWindow(window: TimedWindow, nowMs: number): readonly SilenceView[] {
  const inForce = window.openingAt(nowMs);
  const opening = inForce ?? window.nextOpening(nowMs);
  if (!opening) return [];
  return [
    {
      id: `${maintenancePrefix}${window.name}`,
      kind: "maintenance",
      state: inForce ? "in_force" : "to_come",
      match: writeMatch(window.match),
      author: null,
      reason: window.reason,
      created_at: null,
      starts_at: timeText(opening.startsAtMs),
      ends_at: timeText(opening.endsAtMs),
    },
  ];
}

export function viewIncident({ incident, target, acknowledgement }: StoredIncident): IncidentView {
  const { phase } = incident;
  const told = tellIncident(target, incident, acknowledgement?.author ?? null);
  return {
    id: incident.id,
    rule: incident.rule,
    severity: incident.severity,
    state: phase.name,
    muted: phase.name === "firing" && phase.toldAtMs === null,
    flapping: told.flapping,
    subject: told.subject,
    region: told.region,
    key: told.key,
    sandbox_id: told.sandboxId,
    server_id: told.serverId,
    server_name: told.serverName,
    probe: told.probe,
    receiver: told.receiver,
    status: told.status,
    previous_status: told.previousStatus,
    started_at: timeText(told.startedAtMs),
    fired_at: timeText(incident.firedAtMs),
    resolved_at: timeText(told.resolvedAtMs),
    resolved_reason: told.resolvedReason,
    receivers: incident.receivers,
    acknowledged_by: told.acknowledgedBy,
    acknowledged_at: timeText(acknowledgement?.atMs ?? null),
    note: acknowledgement?.note ?? null,
  };
}

export function viewNotification(record: NotificationRecord): NotificationView {
  return {
    seq: record.seq,
    id: record.id,
    receiver: record.receiver,
    state: record.state,
    type: record.type,
    rule: record.rule,
    severity: record.severity,
    summary: record.summary,
    caused_at: timeText(record.causedAtMs),
    created_at: timeText(record.createdAtMs),
    attempts: record.attempts,
    last_reason: record.lastReason,
    settled_at: timeText(record.settledAtMs),
  };
}

export function viewAttempt({ atMs, reason, detail }: AttemptRecord): z.output<typeof attemptView> {
  return { at: timeText(atMs), reason, detail };
}
