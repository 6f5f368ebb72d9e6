import { z } from "zod";
import type { Acknowledgement } from "../../alerts/acknowledgement.ts";
import { notifiedIncident } from "../../alerts/incident.ts";
import { subjectKinds } from "../../alerts/notification.ts";
import { severities } from "../../alerts/rule.ts";
import { RefusedError } from "../../lib/refused-error.ts";
import { isIncidentCursor } from "../../store/incident-history.ts";
import type { StoredIncident } from "../../store/incidents.ts";
import { unreadableNotes } from "../../store/damaged-rows.ts";
import type { StoreContext } from "../context.ts";
import { authorField, beforeField, continuation, cursorText, historyRange } from "../fields.ts";
import { historyRequest, idBeginning, listed, listOfWords, names } from "../fields.ts";
import { nullableText, nullableTime, pageOf, text, texts, time } from "../fields.ts";
import { completeId, mostNamed } from "../find-server.ts";
import { matchNotes } from "../match-notes.ts";
import { defineOperation } from "../operation.ts";
import { toView } from "../view-fields.ts";

const states = ["pending", "firing", "resolved"] as const;

export const incidentView = z.object({
  id: z.string(),
  rule: z.string(),
  severity: z.string(),
  state: z.enum(states),
  muted: z.boolean().describe("It is firing, and a silence suppresses its notifications"),
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
  permission: "read",
  path: "/incidents",
  summary: "Incidents, latest start first; with `after` in the order of their last changes",
  request: historyRequest(
    {
      state: listOfWords(states),
      rule: names,
      severity: listOfWords(severities),
      before: beforeField,
    },
    isIncidentCursor,
  ),
  response: z.object({ incidents: listed(incidentView), ...continuation }),
  async handle(context: StoreContext, request) {
    const { store, clock } = context;
    const { from, to, tz: zone, state, rule, severity, limit, before, after, ...rest } = request;
    const selection = { ...rest, phases: state, rules: rule, severities: severity };
    // After the rows were read.
    const unreadable = () => unreadableNotes(store.unreadable, ["incidents"]);
    if (after !== undefined) {
      const { incidents, cursor } = await store.incidents.after(after, selection, limit);
      const views = incidents.map(viewIncident);
      return { incidents: views, next: null, after: cursor, notes: unreadable() };
    }
    const newest = await store.incidents.newest();
    const range = historyRange({ from, to }, { nowMs: clock.now().utcMs, zone });
    const query = { ...selection, ...range, limit: limit + 1, before: before ?? null };
    const found = await store.incidents.page(query);
    const { page, next } = pageOf(found, limit, ({ incident: { startedAtMs, id } }) =>
      cursorText({ atMs: startedAtMs, id }),
    );
    const unknown = found.length === 0 ? matchNotes(context, { ...rest, rule }) : [];
    return {
      incidents: page.map(viewIncident),
      next,
      after: newest,
      notes: [...unknown, ...unreadable()],
    };
  },
});

export const acknowledgeIncident = defineOperation({
  name: "acknowledgeIncident",
  method: "POST",
  permission: "act",
  path: "/incidents/{id}/acknowledge",
  summary: "Acknowledges a firing incident, which stops its reminders",
  request: z.strictObject({
    id: idBeginning,
    author: authorField,
    note: text(1_000, "a note").optional(),
  }),
  response: z.object({
    incident_id: z.string(),
    author: z.string(),
    note: nullableText,
    acknowledged_at: time,
    already: z
      .boolean()
      .describe("It was acknowledged before: this is the earlier acknowledgement"),
  }),
  refusals: [404, 409],
  async handle(context: StoreContext, { id, author, note = null }) {
    const { store, suppressions, log } = context;
    const known = await store.incidents.beginningWith(id, mostNamed + 1);
    const incidentId = completeId(
      id,
      known.map(({ incident }) => incident.id),
    );
    const given = { incidentId, author, note, atMs: context.clock.now().utcMs };
    const outcome = await store.acknowledgements.acknowledge(given, context.composeAcknowledged);
    switch (outcome.kind) {
      case "unknown": {
        const message = `There is no incident ${id}. List incidents to see their ids.`;
        throw new RefusedError("not_found", message);
      }
      case "not_firing": {
        const why = outcome.phase === "resolved" ? "is already resolved" : "has not fired yet";
        const message = `Incident ${incidentId} ${why}: there is nothing to acknowledge.`;
        throw new RefusedError("conflict", message);
      }
      case "already":
        return viewAcknowledgement(outcome.acknowledgement, true);
      case "acknowledged":
        break;
    }
    suppressions.acknowledge(given);
    context.onOutbox();
    await suppressions.prune();
    log.info(
      { event: "incident.acknowledged", incident_id: incidentId, author, note },
      `${author} acknowledged incident ${incidentId}`,
    );
    return viewAcknowledgement(given, false);
  },
});

function viewAcknowledgement(acknowledgement: Acknowledgement, already: boolean) {
  const { atMs: acknowledgedAtMs, ...rest } = acknowledgement;
  return toView({ ...rest, acknowledgedAtMs, already });
}

function viewIncident({ incident, target, acknowledgement }: StoredIncident): IncidentView {
  const { rule, severity, phase, firedAtMs, receivers } = incident;
  return toView({
    ...notifiedIncident(target, incident, acknowledgement?.author ?? null),
    rule,
    severity,
    state: phase.name,
    muted: phase.name === "firing" && phase.notifiedAtMs === null,
    firedAtMs,
    receivers,
    acknowledgedAtMs: acknowledgement?.atMs ?? null,
    note: acknowledgement?.note ?? null,
  });
}
