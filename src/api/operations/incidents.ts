import { z } from "zod";
import type { Acknowledgement } from "../../alerts/acknowledgement.ts";
import { notifiedIncident } from "../../alerts/incident.ts";
import { subjectKinds } from "../../alerts/notification.ts";
import { RefusedError } from "../../lib/refusal.ts";
import { severities } from "../../alerts/rule.ts";
import type { StoredIncident } from "../../store/incidents.ts";
import { isIncidentCursor } from "../../store/incident-history.ts";
import { unreadableNotes } from "../../store/row-reading.ts";
import type { StoreContext } from "../context.ts";
import * as fields from "../fields.ts";
import { nullableText, nullableTime, texts, time, timeText } from "../fields.ts";
import { findIncident, noSuchIncident } from "../find-by-id.ts";
import {
  continuation,
  historyFields,
  historyRange,
  oneOrder,
  placeField,
  previousAfter,
} from "../history-fields.ts";
import { matchNotes } from "../name-notes.ts";
import { defineOperation } from "../operation.ts";

export const incidentView = z.object({
  id: z.string(),
  rule: z.string(),
  severity: z.string(),
  state: z.enum(["pending", "firing", "resolved"]),
  /** It is firing, and a silence suppresses its notifications. */
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
  receivers: texts,
  acknowledged_by: nullableText,
  acknowledged_at: nullableTime,
  note: nullableText,
});
export type IncidentView = z.output<typeof incidentView>;

export const listIncidents = defineOperation({
  name: "listIncidents",
  method: "GET",
  path: "/incidents",
  summary: "Incidents, latest start first; with `after` in the order of their last changes",
  request: oneOrder(
    z.strictObject({
      ...historyFields,
      state: fields.listOf(z.enum(["pending", "firing", "resolved"], "pending, firing, resolved")),
      rule: fields.names,
      severity: fields.listOf(z.enum(severities, severities.join(", "))),
      before: fields.before,
      after: placeField(previousAfter, isIncidentCursor),
    }),
  ),
  response: z.object({ incidents: z.array(incidentView).readonly(), ...continuation }),
  async handle(context: StoreContext, request) {
    const { store, clock } = context;
    const { from, to, tz: zone, state, rule, severity, limit, before, after, ...rest } = request;
    const selection = { ...rest, phases: state, rules: rule, severities: severity };
    const notes = () => unreadableNotes(store.unreadable, ["incidents"]);
    if (after !== undefined) {
      const later = await store.incidents.after(after, selection, limit);
      const incidents = later.incidents.map(viewIncident);
      return { incidents, next: null, after: later.cursor, notes: notes() };
    }
    const newest = await store.incidents.newest();
    const range = historyRange({ from, to }, { nowMs: clock.now().utcMs, zone });
    const page = { ...selection, ...range, limit: limit + 1, before: before ?? null };
    const found = await store.incidents.page(page);
    const { region, key } = request;
    return {
      incidents: found.slice(0, limit).map(viewIncident),
      next: fields.nextPlace(found, limit, ({ incident: { id, startedAtMs: atMs } }) => ({
        atMs,
        id,
      })),
      after: newest,
      notes: [
        ...(found.length === 0 ? matchNotes(context, { rule, region, key }) : []),
        ...notes(),
      ],
    };
  },
});

export const acknowledgeIncident = defineOperation({
  name: "acknowledgeIncident",
  method: "POST",
  path: "/incidents/{id}/acknowledge",
  summary: "Acknowledges a firing incident, which stops its reminders",
  request: z.strictObject({
    id: fields.idBeginning,
    author: fields.author,
    note: fields.text(1_000, "a note").optional(),
  }),
  response: z.object({
    incident_id: z.string(),
    author: z.string(),
    note: nullableText,
    acknowledged_at: time,
    /** It was acknowledged before: this is the earlier acknowledgement. */
    already: z.boolean(),
  }),
  refusals: [404, 409],
  async handle(context: StoreContext, { id, author, note = null }) {
    const { store, interventions, log } = context;
    const incidentId = await findIncident(id, store);
    const given = { incidentId, author, note, atMs: context.clock.now().utcMs };
    const outcome = await store.acknowledgements.acknowledge(given, context.composeAcknowledged);
    if (outcome.kind === "unknown") throw noSuchIncident(id);
    if (outcome.kind === "not_firing") throw notFiring(incidentId, outcome.phase);
    if (outcome.kind === "already") {
      return { ...viewAcknowledgement(outcome.acknowledgement), already: true };
    }
    interventions.acknowledge(given);
    context.onOutbox();
    await interventions.prune();
    log.info(
      { event: "incident.acknowledged", incident_id: incidentId, author, note },
      `${author} acknowledged incident ${incidentId}`,
    );
    return { ...viewAcknowledgement(given), already: false };
  },
});

function notFiring(id: string, phase: "pending" | "resolved"): RefusedError {
  const why = phase === "resolved" ? "is over already" : "has not fired yet";
  return new RefusedError("conflict", `Incident ${id} ${why}: there is nothing to acknowledge.`);
}

function viewAcknowledgement({ incidentId, author, note, atMs }: Acknowledgement) {
  return { incident_id: incidentId, author, note, acknowledged_at: timeText(atMs) };
}

function viewIncident({ incident, target, acknowledgement }: StoredIncident): IncidentView {
  const { phase } = incident;
  const facts = notifiedIncident(target, incident, acknowledgement?.author ?? null);
  return {
    id: incident.id,
    rule: incident.rule,
    severity: incident.severity,
    state: phase.name,
    muted: phase.name === "firing" && phase.notifiedAtMs === null,
    flapping: facts.flapping,
    subject: facts.subject,
    region: facts.region,
    key: facts.key,
    sandbox_id: facts.sandboxId,
    server_id: facts.serverId,
    server_name: facts.serverName,
    probe: facts.probe,
    receiver: facts.receiver,
    status: facts.status,
    previous_status: facts.previousStatus,
    started_at: timeText(facts.startedAtMs),
    fired_at: timeText(incident.firedAtMs),
    resolved_at: timeText(facts.resolvedAtMs),
    resolved_reason: facts.resolvedReason,
    receivers: incident.receivers,
    acknowledged_by: facts.acknowledgedBy,
    acknowledged_at: timeText(acknowledgement?.atMs ?? null),
    note: acknowledgement?.note ?? null,
  };
}
