import { z } from "zod";
import { subjectFacts } from "../../alerts/incident.ts";
import { isInForce, matchFields, type SilenceMatch } from "../../alerts/silence.ts";
import { RefusedError } from "../../lib/refused-error.ts";
import type { StoredIncident } from "../../store/incidents.ts";
import type { StoredSilence } from "../../store/suppressions.ts";
import type { FleetContext, Needs } from "../context.ts";
import {
  authorField,
  beforeField,
  cursorText,
  durationField,
  flag,
  idBeginning,
} from "../fields.ts";
import { limitField, longestDurationMs } from "../fields.ts";
import {
  listed,
  nextField,
  notes,
  nullableText,
  nullableTime,
  pageOf,
  parsed,
  refuseField,
} from "../fields.ts";
import { text, texts, time } from "../fields.ts";
import type { TimedWindow } from "../suppressions.ts";
import { countMatched, matchNotes, listedNotes } from "../match-notes.ts";
import { defineAction, defineQuery } from "../operation.ts";
import { findIncident } from "./incidents.ts";
import { toView } from "../view-fields.ts";

const patternsAllowed = "a name or a list of names, with * for any characters";
const pattern = z.string(patternsAllowed).min(1, patternsAllowed).max(1_000);
const patterns = z
  .union(
    [pattern, z.array(pattern, patternsAllowed).min(1, patternsAllowed).max(1_000)],
    patternsAllowed,
  )
  .transform((value): readonly string[] => [value].flat());

const matchField = z
  .partialRecord(z.enum(matchFields), patterns)
  .refine(
    (match) => Object.keys(match).length > 0,
    "at least one field; otherwise everything would be silenced",
  );

/** A time without an offset could be in any zone. */
const timePattern = /^\d{4}-\d\d-\d\dT\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?:Z|[+-]\d\d:?\d\d)$/;
export const timeField = parsed(
  "a time such as 2026-11-21T18:00:00Z or 2026-11-21T18:00+01:00",
  (written) => {
    const atMs = timePattern.test(written) ? Date.parse(written) : Number.NaN;
    return Number.isNaN(atMs) ? undefined : atMs;
  },
).optional();

const silenceRequest = z.strictObject({
  match: matchField.optional(),
  incident: idBeginning
    .describe(
      "Instead of `match`: the id of an incident, or a prefix of it, for its rule and subject",
    )
    .optional(),
  author: authorField,
  reason: text(1_000, "the reason for the silence"),
  starts_at: timeField,
  ends_at: timeField,
  duration: durationField,
  force: flag.describe(
    "Whether it is added although `match` has a name that nothing has; `notes` then say so",
  ),
});

export const silenceView = z.object({
  id: z.string(),
  kind: z
    .enum(["silence", "maintenance"])
    .describe("`maintenance`: the present or next opening of a configured window"),
  state: z.enum(["in_force", "to_come", "ended"]),
  match: z.partialRecord(z.enum(matchFields), texts),
  author: nullableText,
  reason: nullableText,
  created_at: nullableTime,
  starts_at: time,
  ends_at: time,
  changed_by: nullableText.describe("Who moved its end last"),
  changed_at: nullableTime,
});
type SilenceView = z.output<typeof silenceView>;

export const listSilences = defineQuery({
  name: "listSilences",
  path: "/silences",
  summary: "Silences and maintenance windows",
  request: z.strictObject({
    ended: flag.describe("Whether silences that have ended are included"),
    limit: limitField,
    before: beforeField,
  }),
  response: z.object({ silences: listed(silenceView), next: nextField }),
  async handle(
    { store, suppressions, clock }: Needs<"store" | "suppressions" | "clock">,
    { ended, limit, before },
  ) {
    const nowMs = clock.now().utcMs;
    const query = { ended, nowMs, limit: limit + 1, before: before ?? null };
    const found = await store.silences.page(query);
    const { page, next } = pageOf(found, limit, (last) =>
      cursorText({ atMs: last.createdAtMs, id: last.id }),
    );
    const windows = before
      ? []
      : suppressions.windows.flatMap((window) => viewWindow(window, nowMs));
    return { silences: [...windows, ...page.map((each) => viewSilence(each, nowMs))], next };
  },
});

/** Every poll compares each of its incidents with each open silence. */
const mostOpenSilences = 1_000;

export const addSilence = defineAction({
  name: "addSilence",
  path: "/silences",
  summary: "Adds a silence",
  request: silenceRequest,
  response: silenceView.extend({
    matched: z.int().describe("How many incidents that fire now it matches"),
    prolonged: z.boolean().describe("There was one that matches the same: it was prolonged"),
    notes,
  }),
  status: 201,
  refusals: [404, 409],
  async handle(context: AddContext & FleetContext & Needs<"clock">, request) {
    const nowMs = context.clock.now().utcMs;
    const { author, reason } = request;
    const period = readPeriod({ ...request, isNew: true }, nowMs);
    const match = await readMatch(context, request);
    const unmatched = await unmatchedNotes(context, request);
    if (unmatched.length > 0 && !request.force) {
      const why = unmatched.map((note) => (note.endsWith("?") ? note : `${note}.`)).join(" ");
      const message = `The silence was not added: ${why} To add it all the same, set force (--force).`;
      throw new RefusedError("invalid", message);
    }
    const wanted = { match, author, reason, ...period };
    const { prolonged, ...silence } = await addOrProlong(context, wanted, nowMs);
    const matched = await countMatched(context, match);
    return { ...viewSilence(silence, nowMs), matched, prolonged, notes: unmatched };
  },
});

/** Most names that nothing has are misspelt, and a misspelt silence has no effect. Incidents have names of the past, too. */
async function unmatchedNotes(
  context: FleetContext,
  { match }: z.output<typeof silenceRequest>,
): Promise<readonly string[]> {
  if (match === undefined) return [];
  return [...matchNotes(context, match), ...(await listedNotes(match, context.targets))];
}

type AddContext = Needs<"store" | "suppressions" | "commits" | "newId">;
type Wanted = Omit<StoredSilence, "id" | "createdAtMs" | "changedBy" | "changedAtMs">;

/** @throws {RefusedError} when there are too many */
export async function addOrProlong(context: AddContext, wanted: Wanted, nowMs: number) {
  const { commits, suppressions } = context;
  const { author, reason } = wanted;
  return commits.act({
    atMs: nowMs,
    async commit() {
      const equal = await prolongEqual(context, wanted, nowMs);
      const silence = equal ?? (await addOther(context, wanted, nowMs));
      return { ...silence, prolonged: equal !== null };
    },
    accept: () => suppressions.reload(),
    lines({ prolonged, ...silence }) {
      const view = viewSilence(silence, nowMs);
      const entry = prolonged ? { event: "silence.changed" } : { event: "silence.added" };
      const done = prolonged ? "prolonged" : "added";
      const msg = `${author} ${done} a silence until ${view.ends_at}: ${reason}`;
      return [{ level: "info", fields: { ...entry, silence: view }, msg }];
    },
  });
}

/** A second silence that matches the same prolongs the first, unless there is time between them. Null: there is none. */
async function prolongEqual(
  { store, suppressions }: AddContext,
  { match, author, reason, startsAtMs, endsAtMs }: Wanted,
  nowMs: number,
): Promise<StoredSilence | null> {
  const same = suppressions
    .openSilences(nowMs)
    .find(
      (each) =>
        matchKey(each.match) === matchKey(match) &&
        each.startsAtMs <= startsAtMs &&
        each.endsAtMs >= startsAtMs,
    );
  if (!same) return null;
  const moved = {
    endsAtMs: Math.max(same.endsAtMs, endsAtMs),
    reason,
    changedBy: author,
    changedAtMs: nowMs,
  };
  return (await store.silences.change(same.id, moved)) ? store.silences.find(same.id) : null;
}

/** The same for matches that differ only in order. */
function matchKey(match: SilenceMatch): string {
  return JSON.stringify(matchFields.map((field) => [...new Set(match[field])].toSorted()));
}

async function addOther(
  { store, suppressions, newId }: AddContext,
  wanted: Wanted,
  nowMs: number,
): Promise<StoredSilence> {
  if (suppressions.openSilences(nowMs).length >= mostOpenSilences) {
    const message = `There are already ${mostOpenSilences} open silences. Expire some, or replace several by one that matches more.`;
    throw new RefusedError("conflict", message);
  }
  let silence = { ...wanted, id: newId(), createdAtMs: nowMs };
  while (!(await store.silences.add(silence))) silence = { ...silence, id: newId() };
  return { ...silence, changedBy: null, changedAtMs: null };
}

async function readMatch(
  context: Needs<"store">,
  { match, incident: id }: z.output<typeof silenceRequest>,
): Promise<SilenceMatch> {
  if (match !== undefined && id === undefined) return match;
  if (match === undefined && id !== undefined) {
    return matchOf(await findIncident(context, id));
  }
  const message = "The silence cannot be added. Allowed: match or incident: one of the two";
  throw new RefusedError("invalid", message, [{ path: "match", allowed: "match or incident" }]);
}

/** What a silence of an incident matches: its rule and subject. */
export function matchOf({ incident, target }: StoredIncident): SilenceMatch {
  const { rule, subject } = incident;
  const { region, key, probe, sandboxId, serverId, serverName } = subjectFacts(target, subject);
  // A server can move to another sandbox, and its name can change.
  const others = serverId === null && { sandbox_id: sandboxId, server_name: serverName };
  const facts = { region, key, probe, server_id: serverId, ...others };
  const known = Object.entries(facts).filter(([, value]) => value !== null);
  return Object.fromEntries([["rule", [rule]], ...known.map(([field, value]) => [field, [value]])]);
}

/** When a silence begins and ends, as a request writes it. */
interface WrittenPeriod {
  readonly isNew: boolean;
  readonly starts_at?: number | undefined;
  readonly ends_at?: number | undefined;
  readonly duration?: number | undefined;
}

/** A silence that would begin in the past begins now: what was notified stays notified. */
export function readPeriod(request: WrittenPeriod, nowMs: number) {
  const { starts_at: start = nowMs, ends_at: end, duration } = request;
  const startsAtMs = Math.max(start, nowMs);
  const endsAtMs = end ?? startsAtMs + (duration ?? 0);
  const faults: readonly (readonly [isFault: boolean, path: string, allowed: string])[] = [
    [
      (end === undefined) === (duration === undefined),
      "ends_at",
      "when it ends, as a time, or how long it lasts, as duration: one of the two",
    ],
    [endsAtMs <= nowMs, "ends_at", "an end in the future"],
    [endsAtMs <= startsAtMs, "ends_at", "an end after the start"],
    [endsAtMs - startsAtMs > longestDurationMs, "ends_at", "an end within a year of the start"],
    [startsAtMs - nowMs > longestDurationMs, "starts_at", "a start within a year"],
  ];
  for (const [isFault, path, allowed] of faults) {
    if (!isFault) continue;
    refuseField(path, allowed, `The silence cannot be ${request.isNew ? "added" : "changed"}`);
  }
  return { startsAtMs, endsAtMs };
}

export function viewSilence(silence: StoredSilence, nowMs: number): SilenceView {
  const hasEnded = silence.endsAtMs <= nowMs;
  const state = isInForce(silence, nowMs) ? "in_force" : hasEnded ? "ended" : "to_come";
  return toView({ kind: "silence", state, ...silence });
}

export function windowId({ name }: TimedWindow): string {
  return `maintenance:${name}`;
}

/** The present or next opening. Empty: it will not open again. */
function viewWindow(window: TimedWindow, nowMs: number): readonly SilenceView[] {
  const present = window.openingAt(nowMs);
  const opening = present ?? window.nextOpening(nowMs);
  if (!opening) return [];
  const { match, reason } = window;
  const state = present ? "in_force" : "to_come";
  const kind = "maintenance";
  const none = { author: null, created_at: null, changed_by: null, changed_at: null };
  return [{ ...toView({ id: windowId(window), kind, state, match, reason, ...opening }), ...none }];
}
