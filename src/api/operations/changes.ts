import { z } from "zod";
import { presences } from "../../fleet/model.ts";
import { firstOf } from "../../lib/first-of.ts";
import { isChangeCursor } from "../../store/changes.ts";
import type { StoredChange } from "../../store/changes.ts";
import { unreadableNotes } from "../../store/row-reading.ts";
import type { StoreContext } from "../context.ts";
import { flag, listOf, previousNext, timeText } from "../fields.ts";
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

const presenceList = listOf(z.enum(presences, presences.join(", ")));

export const changeView = z.object({
  at: z.string(),
  region: z.string(),
  key: z.string(),
  sandbox_id: z.string(),
  server_id: z.string(),
  server_name: z.string().nullable(),
  from: z.string(),
  to: z.string(),
  /** How long it was in `from`; null: that was not observed from beginning to end. */
  stay_seconds: z.number().nullable(),
  /** Only with `lapses`: the server did not change, but was missing or was listed again. */
  lapse: z.enum(["missing", "seen"]).nullable(),
});
export type ChangeView = z.output<typeof changeView>;

export const listChanges = defineOperation({
  name: "listChanges",
  method: "GET",
  path: "/changes",
  summary: "Changes of servers, latest first; with `after` in the order of storage",
  request: oneOrder(
    z.strictObject({
      ...historyFields,
      /** To or from one of these. */
      status: presenceList,
      from_status: presenceList,
      to_status: presenceList,
      lapses: flag,
      before: placeField(previousNext, isChangeCursor),
      after: placeField(previousAfter, isChangeCursor),
    }),
  ),
  response: z.object({ changes: z.array(changeView).readonly(), ...continuation }),
  async handle(context: StoreContext, request) {
    const { store, clock } = context;
    const { from, to, tz: zone, from_status, to_status, limit, before, after, ...rest } = request;
    const { lapses: observations, ...fields } = rest;
    const filter = { ...fields, from: from_status, to: to_status, observations };
    const notes = () => unreadableNotes(store.unreadable, ["changes"]);
    if (after !== undefined) {
      const later = await store.changes.after(after, filter, limit);
      const changes = later.changes.map(viewChange);
      return { changes, next: null, after: later.cursor, notes: notes() };
    }
    const newest = await store.changes.newest();
    const range = historyRange({ from, to }, { nowMs: clock.now().utcMs, zone });
    const query = { ...filter, ...range, keptUpTo: newest, cursor: before };
    const found = await firstOf(store.changes.between({ ...query, direction: "desc" }), limit + 1);
    const page = found.slice(0, limit);
    const { region, key } = request;
    return {
      changes: page.map(viewChange),
      next: found.length > limit ? (page.at(-1)?.cursor ?? null) : null,
      after: newest,
      notes: [...(found.length === 0 ? matchNotes(context, { region, key }) : []), ...notes()],
    };
  },
});

function viewChange(change: StoredChange): ChangeView {
  return {
    at: timeText(change.atMs),
    region: change.target.region,
    key: change.target.key,
    sandbox_id: change.sandboxId,
    server_id: change.serverId,
    server_name: change.serverName,
    from: change.from,
    to: change.to,
    stay_seconds: change.dwellMs === null ? null : change.dwellMs / 1_000,
    lapse: change.observation,
  };
}
