import { z } from "zod";
import { parseDuration } from "../../fleet/duration.ts";
import { RefusedError } from "../../lib/refusal.ts";
import { isInForce } from "../../alerts/silence.ts";
import type { Silence } from "../../alerts/silence.ts";
import { matchFields } from "../../alerts/silence.ts";
import type { HeldInterventions } from "../interventions.ts";
import type { TimedWindow } from "../windows.ts";
import type { StoredSilence } from "../../store/silences.ts";
import type { StoreContext } from "../context.ts";
import * as fields from "../fields.ts";
import { notes, nullableText, nullableTime, parsed, texts, time, timeText } from "../fields.ts";
import { wholeId } from "../find-by-id.ts";
import { matchNotes } from "../name-notes.ts";
import { defineOperation } from "../operation.ts";
import { serverNotes } from "../server-notes.ts";

const patternsAllowed = "a name or a list of names, * standing for any characters";
const pattern = z.string(patternsAllowed).min(1, patternsAllowed).max(1_000);
const patterns = z
  .union(
    [pattern, z.array(pattern, patternsAllowed).min(1, patternsAllowed).max(1_000)],
    patternsAllowed,
  )
  .transform((value): readonly string[] => (typeof value === "string" ? [value] : value))
  .exactOptional();

const matchField = z
  .strictObject({
    rule: patterns,
    severity: patterns,
    region: patterns,
    key: patterns,
    probe: patterns,
    sandbox_id: patterns,
    server_id: patterns,
    server_name: patterns,
    benchmark: patterns,
    tag: patterns,
  })
  .refine(
    (match) => Object.keys(match).length > 0,
    "at least one field: it would silence everything",
  );

/** A time without an offset could be in any zone. */
const timePattern = /^\d{4}-\d\d-\d\dT\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?:Z|[+-]\d\d:?\d\d)$/;
const timeField = parsed(
  "a time such as 2026-11-21T18:00:00Z or 2026-11-21T18:00+01:00",
  (written) => {
    const atMs = timePattern.test(written) ? Date.parse(written) : Number.NaN;
    return Number.isNaN(atMs) ? undefined : atMs;
  },
);

const silenceRequest = z.strictObject({
  match: matchField,
  author: fields.author,
  reason: fields.text(1_000, "the reason for the silence"),
  starts_at: timeField,
  ends_at: timeField,
  duration: parsed("a duration such as 30m, 2h or 1d12h", parseDuration),
});

export const silenceView = z.object({
  id: z.string(),
  /** `maintenance` is the present or next opening of a configured window. */
  kind: z.enum(["silence", "maintenance"]),
  state: z.enum(["in_force", "to_come", "ended"]),
  match: z.partialRecord(z.enum(matchFields), texts),
  author: nullableText,
  reason: nullableText,
  created_at: nullableTime,
  starts_at: time,
  ends_at: time,
});
export type SilenceView = z.output<typeof silenceView>;

export const listSilences = defineOperation({
  name: "listSilences",
  method: "GET",
  path: "/silences",
  summary: "Silences and maintenance windows",
  request: z.strictObject({
    /** Whether silences that have ended are included. */
    ended: fields.flag,
    limit: fields.limit,
    before: fields.before,
  }),
  response: z.object({
    silences: z.array(silenceView).readonly(),
    /** `before` of the next page; null: there is none. */
    next: nullableText,
  }),
  async handle({ store, interventions, clock }: StoreContext, { ended, limit, before }) {
    const nowMs = clock.now().utcMs;
    const page = { ended, nowMs, limit: limit + 1, before: before ?? null };
    const found = await store.silences.page(page);
    const windows = before
      ? []
      : interventions.windows.flatMap((window) => viewWindow(window, nowMs));
    const silences = found.slice(0, limit).map((silence) => viewSilence(silence, nowMs));
    return {
      silences: [...windows, ...silences],
      next: fields.nextPlace(found, limit, ({ createdAtMs: atMs, id }) => ({ atMs, id })),
    };
  },
});

/** Every poll compares each of its incidents with each open silence. */
const mostOpenSilences = 1_000;

export const addSilence = defineOperation({
  name: "addSilence",
  method: "POST",
  path: "/silences",
  summary: "Adds a silence",
  request: silenceRequest,
  response: silenceView.extend({ notes }),
  status: 201,
  refusals: [409],
  async handle(context: StoreContext, request) {
    const { store, interventions, clock, log } = context;
    const createdAtMs = clock.now().utcMs;
    const silence = { ...draftSilence(request, createdAtMs), id: context.newId(), createdAtMs };
    if (interventions.openSilences(createdAtMs).length >= mostOpenSilences) {
      throw new RefusedError(
        "conflict",
        `There are ${mostOpenSilences} silences already. Expire some, or match more with one.`,
      );
    }
    await store.silences.add(silence);
    interventions.addSilence(silence, createdAtMs);
    const view = viewSilence(silence, createdAtMs);
    log.info(
      { event: "silence.added", silence: view },
      `${silence.author} added a silence until ${view.ends_at}: ${silence.reason}`,
    );
    const unmatched = await serverNotes(silence.match, context.targets);
    return { ...view, notes: [...matchNotes(context, silence.match), ...unmatched] };
  },
});

export const expireSilence = defineOperation({
  name: "expireSilence",
  method: "POST",
  path: "/silences/{id}/expire",
  summary: "Ends a silence now",
  request: z.strictObject({ id: fields.idBeginning }),
  response: silenceView,
  refusals: [404, 409],
  async handle({ store, interventions, clock, log }: StoreContext, request) {
    const nowMs = clock.now().utcMs;
    const id = wholeId(request.id, interventions.openSilences(nowMs));
    const silence = await store.silences.find(id);
    if (!silence) throw cannotExpire(id, interventions);
    if (silence.endsAtMs <= nowMs) {
      const endedAt = timeText(silence.endsAtMs);
      throw new RefusedError("conflict", `Silence ${id} has ended already, at ${endedAt}.`);
    }
    await store.silences.end(id, nowMs);
    interventions.endSilence(id, nowMs);
    log.info({ event: "silence.expired", silence_id: id }, `silence ${id} was ended`);
    return viewSilence({ ...silence, endsAtMs: nowMs }, nowMs);
  },
});

const longestMs = 366 * 24 * 60 * 60 * 1_000;

/** A silence that would begin in the past begins now: what was notified stays notified. */
function draftSilence(
  request: z.output<typeof silenceRequest>,
  nowMs: number,
): Omit<Silence, "id"> {
  const { match, author, reason, starts_at: start, ends_at: end, duration } = request;
  const startsAtMs = Math.max(start ?? nowMs, nowMs);
  if ((end === undefined) === (duration === undefined)) {
    throw wrongTime(
      "ends_at",
      "when it ends, as a time, or how long it lasts, as duration: one of the two",
    );
  }
  const endsAtMs = end ?? startsAtMs + (duration ?? 0);
  if (endsAtMs <= nowMs) throw wrongTime("ends_at", "an end in the future");
  if (endsAtMs <= startsAtMs) throw wrongTime("ends_at", "an end after the start");
  if (endsAtMs - startsAtMs > longestMs) {
    throw wrongTime("ends_at", "an end within a year of the start");
  }
  if (startsAtMs - nowMs > longestMs) throw wrongTime("starts_at", "a start within a year");
  return { match, author, reason, startsAtMs, endsAtMs };
}

function wrongTime(path: string, allowed: string): RefusedError {
  const message = `The silence cannot be added. Allowed: ${path}: ${allowed}`;
  return new RefusedError("invalid", message, [{ path, allowed }]);
}

function cannotExpire(id: string, { windows }: HeldInterventions): RefusedError {
  const name = id.startsWith(maintenancePrefix) ? id.slice(maintenancePrefix.length) : id;
  return windows.some((window) => window.name === name)
    ? new RefusedError(
        "conflict",
        `${name} is a maintenance window: it cannot be ended here, change alerts.maintenance in the configuration.`,
      )
    : new RefusedError("not_found", `There is no silence ${id}. List them for their ids.`);
}

function viewSilence(silence: StoredSilence, nowMs: number): SilenceView {
  return {
    id: silence.id,
    kind: "silence",
    state: isInForce(silence, nowMs) ? "in_force" : silence.endsAtMs <= nowMs ? "ended" : "to_come",
    match: silence.match,
    author: silence.author,
    reason: silence.reason,
    created_at: timeText(silence.createdAtMs),
    starts_at: timeText(silence.startsAtMs),
    ends_at: timeText(silence.endsAtMs),
  };
}

/** What ids of maintenance windows begin with, unlike those of silences. */
const maintenancePrefix = "maintenance:";

/** The present or next opening. Empty: it will not open again. */
function viewWindow(window: TimedWindow, nowMs: number): readonly SilenceView[] {
  const present = window.openingAt(nowMs);
  const opening = present ?? window.nextOpening(nowMs);
  if (!opening) return [];
  return [
    {
      id: `${maintenancePrefix}${window.name}`,
      kind: "maintenance",
      state: present ? "in_force" : "to_come",
      match: window.match,
      author: null,
      reason: window.reason,
      created_at: null,
      starts_at: timeText(opening.startsAtMs),
      ends_at: timeText(opening.endsAtMs),
    },
  ];
}
