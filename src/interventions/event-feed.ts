import { eventPlaceText, readEventPlace } from "./event-place.ts";
import type { HistoryDesk } from "./history-desk.ts";
import { eventKinds, eventsQuery } from "./history-requests.ts";
import type { EventKind } from "./history-requests.ts";
import type { ChangeView } from "./history-views.ts";
import { readRequest } from "./requests.ts";
import type { IncidentView } from "./views.ts";

/** What happened after a place. */
export interface FedEvents {
  /** Changes in the order in which they were kept, then incidents as they are now. */
  readonly events: readonly {
    readonly kind: EventKind;
    readonly view: ChangeView | IncidentView;
  }[];
  /** The place to go on with. */
  readonly after: string;
  /** Whether there may be more already. */
  readonly hasMore: boolean;
}

/**
 * Gives what happened after the place of the query; without one nothing, but the place where all that
 * comes later is after.
 *
 * @throws {RefusedError} when it is no query
 */
export type EventFeed = (query: unknown) => Promise<FedEvents>;

/** So many of each kind at a time. */
const limit = 500;

/** For whoever wants to hear of changes and incidents as they come. */
export function createEventFeed(desk: HistoryDesk): EventFeed {
  return async (query) => {
    const { kind, after, ...fields } = readRequest(eventsQuery, query);
    const place = after === undefined ? undefined : readEventPlace(after);
    if (!place) {
      const [changes, incidents] = await Promise.all([
        desk.changes({ limit: 1 }),
        desk.incidents({ limit: 1 }),
      ]);
      const now = eventPlaceText({ changes: changes.after, incidents: incidents.after });
      return { events: [], after: now, hasMore: false };
    }
    const kinds = new Set(kind.length > 0 ? kind : eventKinds);
    const [changes, incidents] = await Promise.all([
      kinds.has("change")
        ? desk.changes({ ...fields, limit, after: place.changes })
        : { changes: [], after: place.changes },
      kinds.has("incident")
        ? desk.incidents({ ...fields, limit, after: place.incidents })
        : { incidents: [], after: place.incidents },
    ]);
    return {
      events: [
        ...changes.changes.map((view) => ({ kind: "change" as const, view })),
        ...incidents.incidents.map((view) => ({ kind: "incident" as const, view })),
      ],
      after: eventPlaceText({ changes: changes.after, incidents: incidents.after }),
      hasMore: changes.changes.length === limit || incidents.incidents.length === limit,
    };
  };
}
