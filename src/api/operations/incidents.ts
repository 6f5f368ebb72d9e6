import { z } from "zod";
import type { Acknowledgement } from "../../alerts/acknowledgement.ts";
import { isMuted, notifiedIncident, subjectFacts } from "../../alerts/incident.ts";
import { severities, targetTroubles } from "../../alerts/rule.ts";
import { subjectKinds } from "../../alerts/subjects.ts";
import { writePaced, type LogLine } from "../../lib/logger.ts";
import { RefusedError } from "../../lib/refused-error.ts";
import type { AcknowledgeOutcome } from "../../store/acknowledgements.ts";
import { isIncidentCursor, type IncidentSelection } from "../../store/incident-history.ts";
import type { StoredIncident } from "../../store/incidents.ts";
import { unreadableNotes } from "../../store/damaged-rows.ts";
import type { StoreContext } from "../context.ts";
import { authorField, beforeField, continuation, cursorText, flag } from "../fields.ts";
import { historyRange, historyRequest, idBeginning, listed, listOfWords } from "../fields.ts";
import {
  names,
  notes,
  nullableText,
  nullableTime,
  pageOf,
  sandboxText,
  serverText,
} from "../fields.ts";
import { targetFields, text, texts, time } from "../fields.ts";
import { completeId, mostNamed } from "../find-server.ts";
import { matchNotes } from "../match-notes.ts";
import { defineOperation } from "../operation.ts";
import { toView } from "../view-fields.ts";

export const incidentStates = ["pending", "firing", "resolved"] as const;

export const incidentView = z.object({
  id: z.string(),
  rule: z.string(),
  severity: z.string(),
  state: z.enum(incidentStates),
  muted: z.boolean().describe("It is firing, and a silence suppresses its notifications"),
  inhibited_by: nullableText.describe(
    "The id of the firing incident because of which receivers were not notified of this one",
  ),
  flapping: z.boolean(),
  subject: z.enum(subjectKinds),
  trouble: z.enum(targetTroubles).nullable().describe("Of a target: why it is not observed"),
  region: nullableText,
  key: nullableText,
  sandbox_id: nullableText,
  server_id: nullableText,
  server_name: nullableText,
  benchmark: nullableText.describe("Of a sandbox"),
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
      state: listOfWords(incidentStates),
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

/** Among which a prefix of the id of a sandbox is looked for. */
const mostFiring = 10_000;

const noteField = text(1_000, "a note").optional();

const acknowledgementView = z.object({
  incident_id: z.string(),
  author: z.string(),
  note: nullableText,
  acknowledged_at: time,
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
    note: noteField,
  }),
  response: acknowledgementView.extend({
    already: z
      .boolean()
      .describe("It was acknowledged before: this is the earlier acknowledgement"),
  }),
  refusals: [404, 409],
  async handle(context: StoreContext, { id, ...given }) {
    const { incident } = await findIncident(context, id);
    const { acknowledged, already } = await acknowledge(context, { ids: [incident.id] }, given);
    const [first] = [...acknowledged, ...already];
    if (first) return { ...viewAcknowledgement(first), already: already.length > 0 };
    const why = incident.phase.name === "pending" ? "has not fired yet" : "is already resolved";
    const message = `Incident ${incident.id} ${why}: there is nothing to acknowledge.`;
    throw new RefusedError("conflict", message);
  },
});

export const acknowledgeIncidents = defineOperation({
  name: "acknowledgeIncidents",
  method: "POST",
  permission: "act",
  path: "/incidents/acknowledge",
  summary: "Acknowledges all firing incidents that match every given field",
  request: z
    .strictObject({
      rule: names,
      ...targetFields,
      server: serverText.optional(),
      sandbox: sandboxText
        .optional()
        .describe("A sandbox's id, or a prefix of one: it and its servers"),
      all: flag.describe("Whether all firing incidents are meant, where no other field is given"),
      author: authorField,
      note: noteField,
    })
    .refine(
      ({ rule, region, key, server, sandbox, all }) =>
        all ===
        (rule.length + region.length + key.length === 0 && (server ?? sandbox) === undefined),
      "rule, region, key, server or sandbox; or all: true, for every firing incident",
    ),
  response: z.object({
    matched: z.int().describe("How many firing incidents match"),
    acknowledged: listed(acknowledgementView).describe("By this request"),
    already: listed(acknowledgementView).describe("Acknowledged before, with who did it"),
    notes,
  }),
  async handle(context: StoreContext, { rule, region, key, server, sandbox, author, note }) {
    const selected = { rules: rule, region, key, server };
    const selection =
      sandbox === undefined
        ? selected
        : { ...selected, sandboxes: [await completeSandbox(context, selected, sandbox)] };
    const outcome = await acknowledge(context, selection, { author, note });
    const acknowledged = outcome.acknowledged.map(viewAcknowledgement);
    const already = outcome.already.map(viewAcknowledgement);
    const matched = acknowledged.length + already.length;
    const unknown = matched === 0 ? matchNotes(context, { rule, region, key }) : [];
    return { matched, acknowledged, already, notes: unknown };
  },
});

/** Otherwise a prefix, or an id with which others begin, would acknowledge more than is meant. */
async function completeSandbox(
  { store }: StoreContext,
  selection: IncidentSelection,
  sandbox: string,
): Promise<string> {
  const query = { ...selection, sandbox, phases: ["firing"] as const };
  const firing = await store.incidents.page({ ...query, limit: mostFiring, before: null });
  const ids = firing.map(({ incident }) => subjectFacts(null, incident.subject).sandboxId);
  return completeId(sandbox, [...new Set(ids.filter((id) => id !== null))]);
}

/** @param id the id of an incident, or a prefix of it. @throws {RefusedError} when not exactly one fits */
export async function findIncident({ store }: StoreContext, id: string): Promise<StoredIncident> {
  const known = await store.incidents.beginningWith(id, mostNamed + 1);
  const complete = completeId(
    id,
    known.map(({ incident }) => incident.id),
  );
  const found = known.find(({ incident }) => incident.id === complete);
  if (found) return found;
  const message = `There is no incident ${id}. List incidents to see their ids.`;
  throw new RefusedError("not_found", message);
}

async function acknowledge(
  { store, suppressions, log, clock, composeAcknowledged, onOutbox }: StoreContext,
  selection: IncidentSelection,
  { author, note = null }: { readonly author: string; readonly note?: string | null | undefined },
): Promise<AcknowledgeOutcome> {
  const given = { author, note, atMs: clock.now().utcMs };
  const outcome = await store.acknowledgements.acknowledge(selection, given, composeAcknowledged);
  if (outcome.acknowledged.length === 0) return outcome;
  onOutbox();
  await suppressions.reload();
  const lines = outcome.acknowledged.values().map(({ incidentId }): LogLine => ({
    level: "info",
    fields: { event: "incident.acknowledged", incident_id: incidentId, author, note },
    msg: `${author} acknowledged incident ${incidentId}`,
  }));
  await writePaced(log, lines);
  return outcome;
}

function viewAcknowledgement({ atMs: acknowledgedAtMs, ...rest }: Acknowledgement) {
  return toView({ ...rest, acknowledgedAtMs });
}

/** What a person must know of an incident beside its state. */
export function incidentNotes({
  muted,
  inhibited_by: inhibitor,
  flapping,
  acknowledged_by: author,
}: IncidentView): readonly string[] {
  return [
    ...(muted ? ["silenced"] : []),
    ...(inhibitor === null ? [] : [`inhibited by ${inhibitor}`]),
    ...(flapping ? ["flapping"] : []),
    ...(author === null ? [] : [`acknowledged by ${author}`]),
  ];
}

export function viewIncident({ incident, target, acknowledgement }: StoredIncident): IncidentView {
  const { rule, severity, phase, firedAtMs, receivers, inhibitedBy } = incident;
  return toView({
    ...notifiedIncident(target, incident, acknowledgement?.author ?? null),
    rule,
    severity,
    state: phase.name,
    muted: isMuted(incident),
    inhibitedBy,
    firedAtMs,
    receivers,
    acknowledgedAtMs: acknowledgement?.atMs ?? null,
    note: acknowledgement?.note ?? null,
  });
}
