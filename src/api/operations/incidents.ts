import { z } from "zod";
import { acknowledgementAt } from "../../alerts/acknowledgement.ts";
import { isMuted, notifiedIncident } from "../../alerts/incident.ts";
import { isUnobserved, presentSubject } from "../../alerts/present-subject.ts";
import { severities, targetTroubles } from "../../alerts/rule.ts";
import { subjectKinds } from "../../alerts/subjects.ts";
import type { WatchedView } from "../../alerts/target-view.ts";
import { targetName } from "../../fleet/model.ts";
import { RefusedError } from "../../lib/refused-error.ts";
import { isIncidentCursor } from "../../store/incident-history.ts";
import type { StoredIncident } from "../../store/incidents.ts";
import type { FleetContext, Needs } from "../context.ts";
import { beforeField, continuation, cursorText, historyRange, historyRequest } from "../fields.ts";
import { listed, listOfWords, names, nullableText, nullableTime } from "../fields.ts";
import { pageOf, texts, time } from "../fields.ts";
import { completeId, mostNamed } from "../find-server.ts";
import { matchNotes } from "../match-notes.ts";
import { defineQuery } from "../operation.ts";
import { timeText, toView } from "../view-fields.ts";

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
  holds: z.boolean().describe("Whether its condition holds at present, as far as it is observed"),
  observed: z
    .boolean()
    .describe(
      "Whether that is known: servers, sandboxes and pools of stale targets are unobserved",
    ),
  present_status: nullableText.describe(
    "What its subject is now, while it fires and its condition does not hold",
  ),
  present_since: nullableTime,
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
  acknowledged_until: nullableTime.describe("Null: until it resolves, or not at all"),
  note: nullableText,
});
export type IncidentView = z.output<typeof incidentView>;

export const listIncidents = defineQuery({
  name: "listIncidents",
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
  async handle(context: FleetContext & Needs<"store" | "clock">, request) {
    const { store, clock } = context;
    const nowMs = clock.now().utcMs;
    const viewEach = incidentViewer(context);
    const { from, to, tz: zone, state, rule, severity, limit, before, after, ...rest } = request;
    const selection = { ...rest, phases: state, rules: rule, severities: severity };
    if (after !== undefined) {
      const { incidents, cursor } = await store.incidents.after(after, selection, limit);
      return { incidents: incidents.map(viewEach), next: null, after: cursor, notes: [] };
    }
    const newest = await store.incidents.newest();
    const range = historyRange({ from, to }, { nowMs, zone });
    const query = { ...selection, ...range, limit: limit + 1, before: before ?? null };
    const found = await store.incidents.page(query);
    const { page, next } = pageOf(found, limit, ({ incident: { startedAtMs, id } }) =>
      cursorText({ atMs: startedAtMs, id }),
    );
    const unknown = found.length === 0 ? matchNotes(context, { ...rest, rule }) : [];
    return {
      incidents: page.map(viewEach),
      next,
      after: newest,
      notes: unknown,
    };
  },
});

/** @param id the id of an incident, or a prefix of it. @throws {RefusedError} when not exactly one fits */
export async function findIncident({ store }: Needs<"store">, id: string): Promise<StoredIncident> {
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

export const unobservedNote = "unobserved";

/**
 * What a person must know of an incident beside its state.
 *
 * @param namesInhibitor whether it says which incident inhibits it
 * @param sinceText since when its subject is what it is now; by default that is not said
 */
export function incidentNotes(
  incident: IncidentView,
  namesInhibitor = true,
  sinceText: (isoTime: string) => string = () => "",
): readonly string[] {
  const { muted, inhibited_by: inhibitor, flapping, observed } = incident;
  const { present_status: present, present_since: since, acknowledged_by: author } = incident;
  return [
    ...(muted ? ["silenced"] : []),
    ...(inhibitor === null ? [] : [namesInhibitor ? `inhibited by ${inhibitor}` : "inhibited"]),
    ...(flapping ? ["flapping"] : []),
    ...(present === null
      ? []
      : [`now ${present} ${since === null ? "" : sinceText(since)}`.trim()]),
    ...(observed ? [] : [unobservedNote]),
    ...(author === null ? [] : [`acknowledged by ${author}`]),
  ];
}

/** Views incidents as they are now. */
export function incidentViewer({ targets, clock }: Needs<"targets" | "clock">) {
  const nowMs = clock.now().utcMs;
  const watched = new Map(targets.map((each) => [targetName(each.target), each]));
  return (stored: StoredIncident): IncidentView => {
    const found = stored.target && watched.get(targetName(stored.target));
    return viewIncident(stored, found ?? null, targets, nowMs);
  };
}

function viewIncident(
  { incident, target, acknowledgement }: StoredIncident,
  watched: WatchedView | null,
  targets: readonly WatchedView[],
  nowMs: number,
): IncidentView {
  const { rule, severity, phase, firedAtMs, receivers, inhibitedBy } = incident;
  const now = presentSubject(watched, incident, targets);
  const inForce = acknowledgementAt(acknowledgement, incident.resolvedAtMs ?? nowMs);
  return toView({
    ...notifiedIncident(target, incident, inForce?.author ?? null),
    rule,
    severity,
    state: phase.name,
    muted: isMuted(incident),
    holds: phase.name === "pending" || (phase.name === "firing" && phase.clearSinceMs === null),
    observed: phase.name === "resolved" || !isUnobserved(watched, incident, targets),
    presentStatus: now?.status ?? null,
    presentSince: timeText(now?.sinceMs ?? null),
    inhibitedBy,
    firedAtMs,
    receivers,
    acknowledgedAtMs: inForce?.atMs ?? null,
    acknowledgedUntil: timeText(inForce?.endsAtMs ?? null),
    note: inForce?.note ?? null,
  });
}
