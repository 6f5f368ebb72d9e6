import { z } from "zod";
import { isChangeCursor } from "../../store/change-rows.ts";
import { isIncidentCursor } from "../../store/incident-history.ts";
import { cursorField, flag, listOfWords, serverFields } from "../fields.ts";
import { readRequest, type CallApi } from "../operation.ts";
import { listChanges } from "./changes.ts";
import { listIncidents } from "./incidents.ts";

const kinds = ["change", "incident"] as const;

export const eventsQuery = z.strictObject({
  kind: listOfWords(kinds),
  ...serverFields,
  after: cursorField("the id of an event", (written) => readCursor(written) !== null),
  brief: flag.describe("Whether only `news` is sent when something happened, of whatever kind"),
});

/** An event's id: a cursor of the changes and one of the incidents. */
function readCursor(text: string) {
  const [changes = "", incidents = "", ...rest] = text.split(",");
  const isCursor = isChangeCursor(changes) && isIncidentCursor(incidents) && rest.length === 0;
  return isCursor ? { changes, incidents } : null;
}

interface Events {
  readonly events: readonly { readonly kind: string; readonly view: object }[];
  readonly after: string;
  readonly hasMore: boolean;
}

const mostOfAKind = 500;

/**
 * Reads what was stored after a cursor: changes in the order of storage, then incidents as they are now. Without a
 * cursor it gives no events, only the current cursor. @throws {RefusedError} when the query is not valid
 */
export async function readEvents(api: CallApi, query: unknown): Promise<Events> {
  const { kind, after, brief, ...fields } = readRequest(eventsQuery, query);
  if (brief && after !== undefined) {
    const now = await readEvents(api, {});
    const events = now.after === after ? [] : [{ kind: "news", view: {} }];
    return { ...now, events };
  }
  const cursor = after === undefined ? null : readCursor(after);
  const isWanted = (each: (typeof kinds)[number]): boolean =>
    kind.length === 0 || kind.includes(each);
  const request = { ...fields, limit: mostOfAKind };
  const [changes, incidents] = await Promise.all([
    cursor && !isWanted("change")
      ? { changes: [], after: cursor.changes }
      : api(listChanges, cursor ? { ...request, after: cursor.changes } : { limit: 1 }),
    cursor && !isWanted("incident")
      ? { incidents: [], after: cursor.incidents }
      : api(listIncidents, cursor ? { ...request, after: cursor.incidents } : { limit: 1 }),
  ]);
  const events = [
    ...changes.changes.map((view) => ({ kind: "change", view })),
    ...incidents.incidents.map((view) => ({ kind: "incident", view })),
  ];
  const isFull = [changes.changes, incidents.incidents].some(
    ({ length }) => length === mostOfAKind,
  );
  return {
    events: cursor ? events : [],
    after: `${changes.after},${incidents.after}`,
    hasMore: cursor !== null && isFull,
  };
}
