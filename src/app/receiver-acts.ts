import type { Needs } from "../api/context.ts";
import { acknowledge, type AcknowledgeContext } from "../api/operations/acknowledgements.ts";
import { counted } from "../fleet/text.ts";
import { batches } from "../lib/iterables.ts";
import type { IncidentNote } from "../store/receiver-state.ts";

/** A service repeats what it could not deliver for some time, and keeps what is behind it back meanwhile. */
export const longestDelayMs = 24 * 60 * 60_000;

/** By which the clocks of a service and this machine may differ. */
export const clockToleranceMs = 60_000;

export const incidentsAtOnce = 500;

/** A service in which people act on incidents. */
interface ActingService {
  readonly name: string;
  /** How the log calls what it sends. */
  readonly event: string;
}

/** What somebody did at a receiver, as its service sent it. */
export interface ReceiverAct {
  readonly receiver: string;
  readonly eventId: string;
  /** What the service calls the incident. */
  readonly remoteId: string;
  readonly type: string;
  /** UTC milliseconds. */
  readonly occurredAtMs: number;
  /** As the service knows them; null: nobody. */
  readonly userId: string | null;
}

/** What was done because of it. */
export interface Done {
  readonly text: string;
  readonly incidentIds: readonly string[];
  readonly notes: readonly IncidentNote[];
  /** Who did it; null: nobody that the configuration names. */
  readonly by: string | null;
  readonly isRefused?: true;
  readonly isRepeated?: true;
  /** What sandwatch calls the incident of the service, where that was stated. */
  readonly alert?: string | null;
}

export function nothing(text: string, by: string | null = null): Done {
  return { text, incidentIds: [], notes: [], by };
}

/** Handles what people do in a service, one after the other and each once, however often it is sent. */
export function createActs(context: Needs<"store" | "clock" | "log">, service: ActingService) {
  let last: Promise<unknown> = Promise.resolve();
  return (act: ReceiverAct, handle: () => Promise<Done>): Promise<Done> => {
    // What is repeated while it is handled must find it handled.
    const done = last.then(() => handleOnce(context, service, act, handle));
    last = done.catch(() => null);
    return done;
  };
}

async function handleOnce(
  { store, clock, log }: Needs<"store" | "clock" | "log">,
  service: ActingService,
  act: ReceiverAct,
  handle: () => Promise<Done>,
): Promise<Done> {
  const { receiver, eventId, remoteId, type, occurredAtMs, userId } = act;
  const nowMs = clock.now().utcMs;
  if (await store.receiverEvents.isHandled(receiver, eventId)) {
    const text = "This event was handled before: nothing was changed.";
    return { ...nothing(text), isRepeated: true };
  }
  if (Math.abs(nowMs - occurredAtMs) > longestDelayMs) {
    return nothing(
      "This event is more than a day away from the time of this machine: nothing was changed.",
    );
  }
  const done = await handle();
  const { text, incidentIds, notes, by, isRefused, alert = null } = done;
  // Only now: if this process ends before, the service repeats it, and what was done is not done twice.
  await store.receiverEvents.handled({ receiver, eventId, remoteId, alert }, notes, nowMs);
  log[isRefused ? "warn" : "info"](
    {
      event: service.event,
      receiver,
      type,
      event_id: eventId,
      user: by ?? userId,
      incident_ids: incidentIds.slice(0, incidentsAtOnce),
    },
    `${service.name}: ${type}: ${text}`,
  );
  return done;
}

/** @param still what is added about them, such as " until sandwatch observes their end" */
export async function acknowledgeAll(
  context: AcknowledgeContext,
  incidentIds: readonly string[],
  { author, note }: { readonly author: string; readonly note: string | null },
  still = "",
) {
  let changed = 0;
  const already = new Set<string>();
  for (const ids of batches(incidentIds, incidentsAtOnce)) {
    const outcome = await acknowledge(context, { ids }, { author, note });
    changed += outcome.acknowledged.length;
    for (const { incidentId } of outcome.already) already.add(incidentId);
  }
  const others = already.size === 0 ? "" : `; acknowledged before: ${already.size}`;
  const text = `${author} acknowledged ${counted(changed, "incident")}${still}${others}.`;
  return { text, already };
}

/** Notes the same on each of some incidents. */
export function notesOn(
  incidentIds: readonly string[],
  note: Omit<IncidentNote, "incidentId">,
): readonly IncidentNote[] {
  return incidentIds.map((incidentId) => ({ incidentId, ...note }));
}

/** Somebody acted whom the configuration does not name. */
export function refused(
  { receiver, occurredAtMs: atMs }: ReceiverAct,
  service: string,
  user: { readonly id: string; readonly name: string },
  what: string,
  incidentIds: readonly string[],
): Done {
  const text = `${user.name} (${user.id}) ${what} in ${service}. ${receiver}.users in the configuration does not name this user: nothing was changed.`;
  const notes = notesOn(incidentIds, { atMs, author: service, note: text });
  return { text, incidentIds, notes, by: null, isRefused: true };
}
