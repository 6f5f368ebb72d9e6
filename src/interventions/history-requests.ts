import { z } from "zod";
import { presences } from "../core/model.ts";
import { severities } from "../core/rule.ts";
import { zoneText } from "../reports/report-desk.ts";
import { timeAllowed } from "../reports/time-range.ts";
import { isChangeCursor } from "../store/change-history.ts";
import { readEventPlace } from "./event-place.ts";
import { isIncidentCursor } from "../store/incident-history.ts";
import { flag, limit, listOf, place, serverText, text } from "./requests.ts";

/** What people ask of what happened. */

const names = listOf(z.string().min(1));

/** Names from the service may hold commas: several are given one by one. */
const wholeNames = z
  .preprocess(
    (value) => (typeof value === "string" ? [value] : (value ?? [])),
    z.array(z.string()).max(100),
  )
  .optional()
  .transform((items) => items ?? []);

const presenceList = listOf(z.enum(presences, presences.join(", ")));

const sandboxText = text(1_000, "a sandbox's id, or the beginning of one");
const laterAllowed = "what an answer gave as after";

const ofServers = {
  region: names,
  key: names,
  server: serverText.optional(),
  sandbox: sandboxText.optional(),
  name: wholeNames,
};

const common = {
  ...ofServers,
  from: z.string(timeAllowed).optional(),
  to: z.string(timeAllowed).optional(),
  /** Of which zone `from` and `to` are. */
  tz: zoneText,
  limit,
};

export const changesQuery = withOneOrder(
  z.strictObject({
    ...common,
    /** From one of these or to one; then of those only from, and only to. */
    status: presenceList,
    from_status: presenceList,
    to_status: presenceList,
    lapses: flag,
    before: placeText("what the list before gave as next", isChangeCursor),
    after: placeText(laterAllowed, isChangeCursor),
  }),
);
export type ChangesQuery = z.input<typeof changesQuery>;

export const incidentsQuery = withOneOrder(
  z.strictObject({
    ...common,
    state: listOf(z.enum(["pending", "firing", "resolved"], "pending, firing, resolved")),
    rule: names,
    severity: listOf(z.enum(severities, severities.join(", "))),
    before: place,
    after: placeText(laterAllowed, isIncidentCursor),
  }),
);
export type IncidentsQuery = z.input<typeof incidentsQuery>;

export const eventKinds = ["change", "incident"] as const;
export type EventKind = (typeof eventKinds)[number];

export const eventsQuery = z.strictObject({
  kind: listOf(z.enum(eventKinds, eventKinds.join(", "))),
  ...ofServers,
  after: placeText("the id of an event", (written) => readEventPlace(written) !== undefined),
});

function placeText(allowed: string, isPlace: (written: string) => boolean) {
  return z.string(allowed).refine(isPlace, allowed).optional();
}

/** What came later is told in the order in which it was kept, not in that of a stretch of time. */
function withOneOrder<Query extends z.ZodObject>(query: Query) {
  return query.refine(
    ({ after, before, from, to }) => after === undefined || (before ?? from ?? to) === undefined,
    "after without before, from and to",
  );
}
