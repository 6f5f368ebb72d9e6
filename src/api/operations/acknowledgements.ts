import { z } from "zod";
import type { Acknowledgement } from "../../alerts/acknowledgement.ts";
import { subjectFacts } from "../../alerts/incident.ts";
import { RefusedError } from "../../lib/refused-error.ts";
import type { AcknowledgeOutcome } from "../../store/suppressions.ts";
import type { IncidentSelection } from "../../store/incident-history.ts";
import type { StoredIncident } from "../../store/incidents.ts";
import type { FleetContext, Needs } from "../context.ts";
import {
  authorField,
  durationField,
  flag,
  idBeginning,
  listed,
  longestDurationMs,
  names,
} from "../fields.ts";
import { notes, nullableText, nullableTime, sandboxText, serverText } from "../fields.ts";
import { targetFields, text, time } from "../fields.ts";
import { completeId } from "../find-server.ts";
import { matchNotes } from "../match-notes.ts";
import { defineAction } from "../operation.ts";
import { toView } from "../view-fields.ts";
import { findIncident } from "./incidents.ts";

export type AcknowledgeContext = Needs<
  "store" | "clock" | "commits" | "suppressions" | "composeAcknowledged"
>;

/** Among which a prefix of the id of a sandbox is looked for. */
const mostFiring = 10_000;

const noteField = text(1_000, "a note").optional();

const lasting = durationField
  .refine((ms = 1) => ms > 0 && ms <= longestDurationMs, "at most a year")
  .describe("How long it lasts. Reminders go on afterwards. Default: until the incident resolves");

const acknowledgementView = z.object({
  incident_id: z.string(),
  author: z.string(),
  note: nullableText,
  acknowledged_at: time,
  ends_at: nullableTime.describe("Null: when the incident resolves"),
  ended_by: nullableText.describe("Who withdrew it"),
});

const selectionFields = {
  rule: names,
  ...targetFields,
  server: serverText.optional(),
  sandbox: sandboxText
    .optional()
    .describe("A sandbox's id, or a prefix of one: it and its servers"),
  all: flag.describe("Whether all firing incidents are meant, where no other field is given"),
};
type Selected = z.output<z.ZodObject<typeof selectionFields>>;

const selectionAllowed =
  "rule, region, key, server or sandbox; or all: true, for every firing incident";

function isSelection({ rule, region, key, server, sandbox, all }: Selected): boolean {
  const isGiven = rule.length + region.length + key.length > 0 || (server ?? sandbox) !== undefined;
  return all !== isGiven;
}

export const acknowledgeIncident = defineAction({
  name: "acknowledgeIncident",
  path: "/incidents/{id}/acknowledge",
  summary: "Acknowledges a firing incident, which stops its reminders",
  request: z.strictObject({
    id: idBeginning,
    author: authorField,
    note: noteField,
    duration: lasting,
  }),
  response: acknowledgementView.extend({
    already: z
      .boolean()
      .describe("It was acknowledged before for as long: this is the earlier acknowledgement"),
  }),
  refusals: [404, 409],
  async handle(context: AcknowledgeContext, { id, ...given }) {
    const { incident } = await findIncident(context, id);
    const { acknowledged, already } = await acknowledge(context, { ids: [incident.id] }, given);
    const [first] = [...acknowledged, ...already];
    if (first) return { ...viewAcknowledgement(first), already: already.length > 0 };
    throw notFiring(incident, "acknowledge");
  },
});

export const unacknowledgeIncident = defineAction({
  name: "unacknowledgeIncident",
  path: "/incidents/{id}/unacknowledge",
  summary: "Withdraws the acknowledgement of a firing incident, so that its reminders go on",
  request: z.strictObject({ id: idBeginning, author: authorField }),
  response: acknowledgementView,
  refusals: [404, 409],
  async handle(context: AcknowledgeContext, { id, author }) {
    const { incident } = await findIncident(context, id);
    const [withdrawn] = await withdraw(context, { ids: [incident.id] }, author);
    if (withdrawn) return viewAcknowledgement(withdrawn);
    if (incident.phase.name !== "firing") throw notFiring(incident, "withdraw");
    const message = `Incident ${incident.id} is not acknowledged: there is nothing to withdraw.`;
    throw new RefusedError("conflict", message);
  },
});

function notFiring({ id, phase }: StoredIncident["incident"], what: string): RefusedError {
  const why = phase.name === "pending" ? "has not fired yet" : "is already resolved";
  return new RefusedError("conflict", `Incident ${id} ${why}: there is nothing to ${what}.`);
}

export const acknowledgeIncidents = defineAction({
  name: "acknowledgeIncidents",
  path: "/incidents/acknowledge",
  summary: "Acknowledges all firing incidents that match every given field",
  request: z
    .strictObject({ ...selectionFields, author: authorField, note: noteField, duration: lasting })
    .refine(isSelection, selectionAllowed),
  response: z.object({
    matched: z.int().describe("How many firing incidents match"),
    acknowledged: listed(acknowledgementView).describe("By this request"),
    already: listed(acknowledgementView).describe(
      "Acknowledged before for as long, with who did it",
    ),
    notes,
  }),
  async handle(context: AcknowledgeContext & FleetContext, request) {
    const { rule, region, key } = request;
    const outcome = await acknowledge(context, await selectionOf(context, request), request);
    const acknowledged = outcome.acknowledged.map(viewAcknowledgement);
    const already = outcome.already.map(viewAcknowledgement);
    const matched = acknowledged.length + already.length;
    const unknown = matched === 0 ? matchNotes(context, { rule, region, key }) : [];
    return { matched, acknowledged, already, notes: unknown };
  },
});

export const unacknowledgeIncidents = defineAction({
  name: "unacknowledgeIncidents",
  path: "/incidents/unacknowledge",
  summary: "Withdraws the acknowledgements of all firing incidents that match every given field",
  request: z
    .strictObject({ ...selectionFields, author: authorField })
    .refine(isSelection, selectionAllowed),
  response: z.object({ withdrawn: listed(acknowledgementView), notes }),
  async handle(context: AcknowledgeContext & FleetContext, request) {
    const { rule, region, key, author } = request;
    const withdrawn = await withdraw(context, await selectionOf(context, request), author);
    const unknown = withdrawn.length === 0 ? matchNotes(context, { rule, region, key }) : [];
    return { withdrawn: withdrawn.map(viewAcknowledgement), notes: unknown };
  },
});

async function selectionOf(
  context: Needs<"store">,
  { rule: rules, region, key, server, sandbox }: Selected,
): Promise<IncidentSelection> {
  const selected = { rules, region, key, server };
  if (sandbox === undefined) return selected;
  return { ...selected, sandboxes: [await completeSandbox(context, selected, sandbox)] };
}

/** Otherwise a prefix, or an id with which others begin, would acknowledge more than is meant. */
async function completeSandbox(
  { store }: Needs<"store">,
  selection: IncidentSelection,
  sandbox: string,
): Promise<string> {
  const query = { ...selection, sandbox, phases: ["firing"] as const };
  const firing = await store.incidents.page({ ...query, limit: mostFiring, before: null });
  const ids = firing.map(({ incident }) => subjectFacts(null, incident.subject).sandboxId);
  return completeId(sandbox, [...new Set(ids.filter((id) => id !== null))]);
}

/** @param selection must name something: an empty one selects all that fire */
export async function acknowledge(
  context: AcknowledgeContext,
  selection: IncidentSelection,
  {
    author,
    note = null,
    duration: lastsMs,
  }: {
    readonly author: string;
    readonly note?: string | null | undefined;
    readonly duration?: number | undefined;
  },
): Promise<AcknowledgeOutcome> {
  const { store, clock, commits, suppressions, composeAcknowledged } = context;
  const atMs = clock.now().utcMs;
  const endsAtMs = lastsMs === undefined ? null : atMs + lastsMs;
  const given = { author, note, atMs, endsAtMs };
  return commits.act({
    atMs,
    commit: () => store.acknowledgements.acknowledge(selection, given, composeAcknowledged),
    accept: () => suppressions.reload(),
    lines: ({ acknowledged }) =>
      acknowledged.map(({ incidentId }) => ({
        level: "info",
        fields: { event: "incident.acknowledged", incident_id: incidentId, author, note },
        msg: `${author} acknowledged incident ${incidentId}`,
      })),
  });
}

/** @param selection must name something: an empty one selects all that fire */
export async function withdraw(
  context: AcknowledgeContext,
  selection: IncidentSelection,
  author: string,
): Promise<readonly Acknowledgement[]> {
  const { store, clock, commits, suppressions, composeAcknowledged } = context;
  const atMs = clock.now().utcMs;
  return commits.act({
    atMs,
    commit: () => store.acknowledgements.withdraw(selection, { author, atMs }, composeAcknowledged),
    accept: () => suppressions.reload(),
    lines: (withdrawn) =>
      withdrawn.map(({ incidentId }) => ({
        level: "info",
        fields: { event: "incident.unacknowledged", incident_id: incidentId, author },
        msg: `${author} withdrew the acknowledgement of incident ${incidentId}`,
      })),
  });
}

function viewAcknowledgement({ atMs: acknowledgedAtMs, ...rest }: Acknowledgement) {
  return toView({ ...rest, acknowledgedAtMs });
}
