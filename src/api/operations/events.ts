import { z } from "zod";
import { isChangeCursor } from "../../store/changes.ts";
import { isIncidentCursor } from "../../store/incident-history.ts";
import { listOf } from "../fields.ts";
import { placeField, serverFields } from "../history-fields.ts";
import type { CallApi } from "../operation.ts";
import { readRequest } from "../request.ts";
import { listChanges } from "./changes.ts";
import type { ChangeView } from "./changes.ts";
import { listIncidents } from "./incidents.ts";
import type { IncidentView } from "./incidents.ts";

const eventKinds = ["change", "incident"] as const;

export const eventsQuery = z.strictObject({
  kind: listOf(z.enum(eventKinds, eventKinds.join(", "))),
  ...serverFields,
  after: placeField("the id of an event", (written) => readEventPlace(written) !== undefined),
});

/** What was stored after a place. */
export interface StoredEvents {
  /** Changes in the order of storage, then incidents as they are now. */
  readonly events: readonly {
    readonly kind: (typeof eventKinds)[number];
    readonly view: ChangeView | IncidentView;
  }[];
  /** The place of the next request. */
  readonly after: string;
  /** Whether there may already be more. */
  readonly hasMore: boolean;
}

const mostOfAKind = 500;

/**
 * Reads what was stored after a place. Without a place it gives no events, only the present place.
 *
 * @throws {RefusedError} when the query is not valid
 */
export async function readEvents(api: CallApi, query: unknown): Promise<StoredEvents> {
  const { kind, after, ...fields } = readRequest(eventsQuery, query);
  const place = after === undefined ? undefined : readEventPlace(after);
  if (!place) {
    const [changes, incidents] = await Promise.all([
      api(listChanges, { limit: 1 }),
      api(listIncidents, { limit: 1 }),
    ]);
    return { events: [], after: `${changes.after},${incidents.after}`, hasMore: false };
  }
  const kinds = new Set(kind.length > 0 ? kind : eventKinds);
  const request = { ...fields, limit: mostOfAKind };
  const [changes, incidents] = await Promise.all([
    kinds.has("change")
      ? api(listChanges, { ...request, after: place.changes })
      : { changes: [], after: place.changes },
    kinds.has("incident")
      ? api(listIncidents, { ...request, after: place.incidents })
      : { incidents: [], after: place.incidents },
  ]);
  return {
    events: [
      ...changes.changes.map((view) => ({ kind: "change" as const, view })),
      ...incidents.incidents.map((view) => ({ kind: "incident" as const, view })),
    ],
    after: `${changes.after},${incidents.after}`,
    hasMore: changes.changes.length === mostOfAKind || incidents.incidents.length === mostOfAKind,
  };
}

/** An event's id: a place among the changes and one among the incidents. */
function readEventPlace(text: string) {
  const [changes = "", incidents = "", ...rest] = text.split(",");
  const isPlace = isChangeCursor(changes) && isIncidentCursor(incidents) && rest.length === 0;
  return isPlace ? { changes, incidents } : undefined;
}
