import { z } from "zod";
import { presences } from "../../fleet/model.ts";
import { firstOf } from "../../lib/iterables.ts";
import { isChangeCursor } from "../../store/change-rows.ts";
import { changeSubjects, type StoredSubjectChange } from "../../store/changes.ts";
import type { FleetContext, Needs } from "../context.ts";
import { continuation, cursorField, flag, historyRange, historyRequest } from "../fields.ts";
import {
  listed,
  listOfWords,
  nullableText,
  pageOf,
  previousNext,
  serverLabels,
  time,
} from "../fields.ts";
import { matchNotes } from "../match-notes.ts";
import { defineQuery } from "../operation.ts";
import { toView } from "../view-fields.ts";

const presenceList = listOfWords(presences);

export const changeView = z.object({
  subject: z.enum(changeSubjects),
  at: time,
  ...serverLabels,
  server_id: nullableText.describe("Null: the change is of the sandbox"),
  from: z.string(),
  to: z.string(),
  stay_seconds: z
    .number()
    .nullable()
    .describe("How long it was in `from`; null: that was not observed from beginning to end"),
  lapse: z
    .enum(["missing", "seen", "updated"])
    .nullable()
    .describe(
      "With `lapses`: its status did not change, but it was missing, was listed again, or has another name, benchmark or tags",
    ),
});
type ChangeView = z.output<typeof changeView>;

export const listChanges = defineQuery({
  name: "listChanges",
  path: "/changes",
  summary: "Changes of sandboxes and servers, latest first; with `after` in the order of storage",
  request: historyRequest(
    {
      subject: listOfWords(changeSubjects).describe(
        "Of what the changes are. Default: both; with `server` or `name`, only of servers",
      ),
      status: presenceList.describe("To or from one of these"),
      from_status: presenceList,
      to_status: presenceList,
      lapses: flag,
      before: cursorField(previousNext, isChangeCursor),
    },
    isChangeCursor,
  ),
  response: z.object({ changes: listed(changeView), ...continuation }),
  async handle(context: FleetContext & Needs<"store" | "clock">, request) {
    const { store, clock } = context;
    const { from, to, tz: zone, from_status, to_status, limit, before, after, ...rest } = request;
    const { lapses: observations, ...fields } = rest;
    const filter = { ...fields, from: from_status, to: to_status, observations };
    if (after !== undefined) {
      const { changes, cursor } = await store.changes.after(after, filter, limit);
      return { changes: changes.map(viewChange), next: null, after: cursor, notes: [] };
    }
    const newest = await store.changes.newest();
    const range = historyRange({ from, to }, { nowMs: clock.now().utcMs, zone });
    const query = { ...filter, ...range, keptUpTo: newest, cursor: before };
    const found = await firstOf(
      store.changes.ofSubjects({ ...query, direction: "desc" }),
      limit + 1,
    );
    const { page, next } = pageOf(found, limit, ({ cursor }) => cursor);
    const unknown = found.length === 0 ? matchNotes(context, fields) : [];
    return {
      changes: page.map(viewChange),
      next,
      after: newest,
      notes: unknown,
    };
  },
});

export function viewChange(change: StoredSubjectChange): ChangeView {
  const { cursor: _, target, dwellMs: stayMs, observation: lapse, ...rest } = change;
  return toView({ ...rest, ...target, stayMs, lapse });
}
