import { z } from "zod";
import { silenceFacts, silences as isAbout } from "../alerts/silence.ts";
import type { SilenceFacts, SilenceMatch } from "../alerts/silence.ts";
import type { Subject } from "../alerts/subjects.ts";
import { firstOf } from "../lib/iterables.ts";
import { allTime } from "../reports/time-range.ts";
import type { ChangeSelection, StoredSubjectChange } from "../store/changes.ts";
import type { StoredIncident } from "../store/incidents.ts";
import type { StoredAttempt } from "../store/notifications.ts";
import type { StoredNotificationItem } from "../store/outbox-items.ts";
import type { IncidentNote } from "../store/receiver-state.ts";
import type { StoredSilence } from "../store/suppressions.ts";
import type { ListCursor } from "../store/sql-helpers.ts";
import type { Store } from "../store/store.ts";
import type { Needs } from "./context.ts";
import { cursorOf, cursorText, limitOf, listed, nextField, nullableText, time } from "./fields.ts";
import type { TimedWindow } from "./suppressions.ts";
import { toView } from "./view-fields.ts";

export const eventView = z.object({
  at: time,
  event: z.string(),
  text: z.string(),
  incident_id: nullableText,
  notification_id: nullableText,
});

export const eventsRequest = {
  limit: limitOf(1_000, 10_000),
  /** The oldest event of a page: its moment, and how many events of that moment were returned. */
  before: cursorOf(z.object({ atMs: z.int(), returned: z.int() })),
};

export const eventsResponse = {
  events: listed(eventView).describe("The latest up to `before`, oldest first"),
  truncated: z.boolean().describe("Whether there are older events"),
  next: nextField,
};

/** More than happens to a server at one moment, and more incidents than it has while one of them is being notified. */
const mostAtOnce = 1_000;
const silencesAtOnce = 1_000;

export type EventsContext = Needs<"store" | "suppressions" | "clock">;

type Concerns = (suppression: { readonly match: SilenceMatch }) => boolean;

/** Names a subject among those that a page is about; empty: it is the one that is explained. */
type NameOf = (subject: Subject) => string;

/** A server or a sandbox. */
interface ExplainedSubject {
  readonly selection: ChangeSelection;
  incidents(begunByMs: number, limit: number): Promise<readonly StoredIncident[]>;
  changeText(change: StoredSubjectChange): string;
  readonly nameOf?: NameOf;
  /** Gives what silences and maintenance windows can match of it, besides its incidents. */
  facts(changes: readonly StoredSubjectChange[]): readonly SilenceFacts[];
}

/** A page of what happened to a server or a sandbox, the latest up to `before`, oldest first. */
export async function pageOfEvents(
  { store, suppressions, clock }: EventsContext,
  subject: ExplainedSubject,
  { limit, before }: z.output<z.ZodObject<typeof eventsRequest>>,
) {
  const { atMs: untilMs, returned } = before ?? { atMs: clock.now().utcMs, returned: 0 };
  const most = limit + returned + mostAtOnce;
  const range = { ...allTime, toMs: untilMs + 1 };
  const about = store.changes.ofSubjects({ ...range, direction: "desc", ...subject.selection });
  const changes = (await firstOf(about, most)).toReversed();
  const { windows } = suppressions;
  // A window is shown from its opening on, for an incident that began later.
  const begunByMs = Math.max(
    ...windows.map((window) => window.openingAt(untilMs)?.endsAtMs ?? untilMs),
    untilMs,
  );
  const incidents = await subject.incidents(begunByMs, most);
  const facts = [...subject.facts(changes), ...incidents.map(factsOfIncident)];
  const concerns: Concerns = ({ match }) => facts.some((each) => isAbout(match, each));
  const incidentIds = incidents.map(({ incident }) => incident.id);
  const items = await store.outbox.about(incidentIds);
  const seqs = items.flatMap(({ notification }) => notification?.seq ?? []);
  const all = timeline(
    {
      changes: changes.map((change) => {
        const { atMs, subject: kind } = change;
        return { atMs, event: `${kind}.changed`, text: subject.changeText(change) };
      }),
      incidents,
      notes: await store.receiverEvents.notesOf(incidentIds),
      silences: await silencesThat(concerns, store),
      windows: windows.filter(concerns),
      items,
      attempts: await store.notifications.attempts([...new Set(seqs)]),
    },
    untilMs,
    subject.nameOf,
  );
  const end = Math.max(0, all.length - returned);
  const begin = Math.max(0, end - limit);
  const atMs = all[begin]?.atMs;
  const ofMoment = all.slice(begin).filter((event) => event.atMs === atMs);
  const next = begin === 0 ? null : cursorText({ atMs, returned: ofMoment.length });
  return { events: all.slice(begin, end).map(viewEvent), truncated: next !== null, next };
}

export function viewEvent(event: TimelineEvent) {
  const { incidentId, notificationId } = event;
  return toView({
    ...event,
    incidentId: incidentId ?? null,
    notificationId: notificationId ?? null,
  });
}

/** The changes, incidents and notifications of a subject, with the silences and windows that match it. */
interface SubjectHistory {
  readonly changes: readonly TimelineEvent[];
  readonly incidents: readonly StoredIncident[];
  readonly notes: readonly IncidentNote[];
  readonly silences: readonly StoredSilence[];
  readonly windows: readonly TimedWindow[];
  readonly items: readonly StoredNotificationItem[];
  readonly attempts: readonly StoredAttempt[];
}

/** Something that happened, in words. */
interface TimelineEvent {
  readonly atMs: number;
  readonly event: string;
  readonly text: string;
  readonly incidentId?: string;
  readonly notificationId?: string;
}

/** Lists what happened to a subject and what was notified of it, up to a moment, oldest first. */
export function timeline(
  history: SubjectHistory,
  untilMs: number,
  nameOf: NameOf = () => "",
): readonly TimelineEvent[] {
  const events = [
    ...history.changes,
    ...incidentEvents(history.incidents, nameOf),
    ...history.notes.map(noteEvent),
    ...silenceEvents(history),
    ...history.items.map(queuedEvent),
    ...deliveryEvents(history),
  ];
  return events.filter(({ atMs }) => atMs <= untilMs).toSorted((a, b) => a.atMs - b.atMs);
}

function incidentEvents(
  stored: readonly StoredIncident[],
  nameOf: NameOf,
): readonly TimelineEvent[] {
  // Of two that began at once, the one that fired first: a silence continues it as another one, which fires later.
  const incidents = stored.toSorted(
    ({ incident: a }, { incident: b }) =>
      a.startedAtMs - b.startedAtMs || (a.firedAtMs ?? Infinity) - (b.firedAtMs ?? Infinity),
  );
  return incidents.flatMap(({ incident, acknowledgement }) => {
    const { id: incidentId, rule, severity, phase, receivers, inhibitedBy } = incident;
    const { startedAtMs, firedAtMs, resolvedAtMs } = incident;
    const name = nameOf(incident.subject);
    // An incident that a silence resolved continues as another one with the same start.
    const silencedAtMs = incidents
      .map((each) => each.incident)
      .filter((each) => each.rule === rule && each.startedAtMs === startedAtMs)
      .filter((each) => nameOf(each.subject) === name)
      .flatMap(({ id, resolvedAtMs: endedAtMs }) => (id === incidentId ? [] : (endedAtMs ?? [])))
      .filter((endedAtMs) => endedAtMs <= (firedAtMs ?? Infinity))
      .toSorted((a, b) => b - a)[0];
    const isSilenced = firedAtMs === null && inhibitedBy === null && phase.name !== "pending";
    const names = receivers.length === 0 ? "nobody" : receivers.join(", ");
    const note = acknowledgement?.note ? `: ${acknowledgement.note}` : "";
    const { endsAtMs = null, endedBy = null } = acknowledgement ?? {};
    const happened: readonly (readonly [atMs: number | null, event: string, text: string])[] = [
      silencedAtMs === undefined
        ? [startedAtMs, "opened", isSilenced ? "opened, silenced" : "opened"]
        : [silencedAtMs, "muted", "continues, silenced"],
      [
        inhibitedBy === null ? null : (firedAtMs ?? startedAtMs),
        "inhibited",
        `not notified because of incident ${inhibitedBy}`,
      ],
      [firedAtMs, "fired", `firing (${severity}), notifies ${names}`],
      [
        acknowledgement?.atMs ?? null,
        "acknowledged",
        `acknowledged by ${acknowledgement?.author}${note}`,
      ],
      [
        endsAtMs !== null && endsAtMs < (resolvedAtMs ?? Infinity) ? endsAtMs : null,
        "unacknowledged",
        endedBy === null ? "acknowledgement ended" : `acknowledgement withdrawn by ${endedBy}`,
      ],
      [resolvedAtMs, "resolved", `resolved (${phase.name === "resolved" ? phase.reason : "?"})`],
    ];
    return happened.flatMap(([atMs, event, text]) =>
      atMs === null
        ? []
        : [{ atMs, event: `incident.${event}`, text: `${name}${rule}: ${text}`, incidentId }],
    );
  });
}

function noteEvent({ incidentId, atMs, author, note }: IncidentNote): TimelineEvent {
  return { atMs, event: "incident.noted", text: `${author}: ${note}`, incidentId };
}

/** Gives what silences and windows can match of an incident. */
export function factsOfIncident({ incident, target }: StoredIncident): SilenceFacts {
  return silenceFacts({ ...incident, name: incident.rule }, target, incident.subject);
}

export async function silencesThat(
  concerns: Concerns,
  { silences }: Pick<Store, "silences">,
): Promise<readonly StoredSilence[]> {
  const found: StoredSilence[] = [];
  let before: ListCursor | null = null;
  for (;;) {
    const page: readonly StoredSilence[] = await silences.page({
      ended: true,
      nowMs: 0,
      limit: silencesAtOnce,
      before,
    });
    found.push(...page.filter(concerns));
    const last = page.at(-1);
    if (!last || page.length < silencesAtOnce) return found;
    before = { atMs: last.createdAtMs, id: last.id };
  }
}

function silenceEvents({ silences, windows, incidents }: SubjectHistory): readonly TimelineEvent[] {
  const bounds = (
    { startsAtMs, endsAtMs }: { readonly startsAtMs: number; readonly endsAtMs: number },
    kind: "silence" | "maintenance",
    text: string,
  ): readonly TimelineEvent[] => [
    { atMs: startsAtMs, event: `${kind}.began`, text: `${text} - began` },
    { atMs: endsAtMs, event: `${kind}.ended`, text: `${text} - ended` },
  ];
  return [
    ...silences
      .filter(({ startsAtMs, endsAtMs }) => endsAtMs > startsAtMs)
      .flatMap((silence) =>
        bounds(silence, "silence", `silence by ${silence.author}: ${silence.reason}`),
      ),
    // A window may have opened many times. Shown are the openings during which an incident started.
    ...windows.flatMap((window) => {
      const openings = incidents.flatMap(
        ({ incident }) => window.openingAt(incident.startedAtMs) ?? [],
      );
      const byStart = new Map(openings.map((opening) => [opening.startsAtMs, opening]));
      const text = `maintenance window ${window.name}`;
      return [...byStart.values()].flatMap((opening) => bounds(opening, "maintenance", text));
    }),
  ];
}

const messageWords: Readonly<Record<StoredNotificationItem["type"], string>> = {
  "incident.firing": "firing",
  "incident.reminder": "still firing",
  "incident.acknowledged": "acknowledged",
  "incident.unacknowledged": "acknowledgement withdrawn",
  "incident.resolved": "resolved",
};

function queuedEvent(item: StoredNotificationItem): TimelineEvent {
  const { incidentId, receiver, type, causedAtMs: atMs, notification } = item;
  const text = `${receiver}: ${messageWords[type]}`;
  const notificationId = notification && { notificationId: notification.id };
  return { atMs, event: "notification.queued", text, incidentId, ...notificationId };
}

/** Every attempt that is stored. If the last one is not, how the notification ended. */
function deliveryEvents({ items, attempts }: SubjectHistory): readonly TimelineEvent[] {
  const attemptsOf = Map.groupBy(attempts, ({ notificationSeq }) => notificationSeq);
  const bySeq = new Map(items.map((item) => [item.notification?.seq, item]));
  return [...bySeq.values()].flatMap(({ notification, receiver, type }) => {
    if (!notification) return [];
    const { seq, id: notificationId, state, lastReason, settledAtMs } = notification;
    const what = messageWords[type];
    const accepted = { event: "delivery.taken", text: `${receiver} accepted: ${what}` };
    const stored = (attemptsOf.get(seq) ?? []).map(({ atMs, reason, detail }): TimelineEvent => {
      if (reason === null) return { atMs, ...accepted, notificationId };
      const why = detail === null ? reason : `${reason}: ${detail}`;
      const text = `${receiver} did not accept: ${what} (${why})`;
      return { atMs, event: "delivery.failed", text, notificationId };
    });
    if (settledAtMs === null) return stored;
    if (state === "delivered") {
      const isStored = stored.some(({ event }) => event === accepted.event);
      return isStored ? stored : [...stored, { atMs: settledAtMs, ...accepted, notificationId }];
    }
    const reason = state === "dead" ? ` (${lastReason ?? "no reason stored"})` : "";
    const text = `${receiver}: ${state}: ${what}${reason}`;
    return [...stored, { atMs: settledAtMs, event: `notification.${state}`, text, notificationId }];
  });
}
