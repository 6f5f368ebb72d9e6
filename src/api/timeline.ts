import type { Incident } from "../alerts/incident.ts";
import { silences as isAbout } from "../alerts/silence.ts";
import type { SilenceFacts } from "../alerts/silence.ts";
import { silenceFacts } from "../alerts/silence.ts";
import type { Rule } from "../alerts/rule.ts";
import type { StoredChange } from "../store/changes.ts";
import type { StoredIncident } from "../store/incidents.ts";
import type { StoredSilence } from "../store/silences.ts";
import type { StoredAttempt, StoredNotificationItem } from "../store/notifications.ts";
import type { FoundServer } from "./find-server.ts";
import type { TimedWindow } from "./windows.ts";

/** All that is known of one server. */
export interface ServerHistory {
  readonly server: FoundServer;
  readonly changes: readonly StoredChange[];
  readonly incidents: readonly StoredIncident[];
  readonly silences: readonly StoredSilence[];
  readonly windows: readonly TimedWindow[];
  readonly items: readonly StoredNotificationItem[];
  readonly attempts: readonly StoredAttempt[];
}

/** Something that happened, in words. */
export interface TimelineEvent {
  readonly atMs: number;
  readonly event: string;
  readonly text: string;
  readonly incidentId?: string;
  readonly notificationId?: string;
}

/** What happened to a server and what was notified of it, up to now, oldest first. */
export function timeline(
  history: ServerHistory,
  rules: readonly Rule[],
  nowMs: number,
): readonly TimelineEvent[] {
  const incidents = history.incidents.toSorted(inOrder);
  const events: readonly TimelineEvent[] = [
    ...history.changes.map(changeEvent),
    ...incidents.flatMap((each) => incidentEvents(each, incidents)),
    ...silenceEvents(history, rules),
    ...history.items.map(queuedEvent),
    ...deliveryEvents(history),
  ];
  return events.filter(({ atMs }) => atMs <= nowMs).toSorted((a, b) => a.atMs - b.atMs);
}

/** Of two that began at once, the one that fired first: a silence continues it as another one, which fires later. */
function inOrder({ incident: a }: StoredIncident, { incident: b }: StoredIncident): number {
  const orNever = (atMs: number | null): number => atMs ?? Number.MAX_SAFE_INTEGER;
  return a.startedAtMs - b.startedAtMs || orNever(a.firedAtMs) - orNever(b.firedAtMs);
}

function changeEvent({ atMs, target, sandboxId, from, to }: StoredChange): TimelineEvent {
  // A server that moves to another sandbox has two changes at the same time.
  const place = `sandbox ${sandboxId} of ${target.region}/${target.key}`;
  return { atMs, event: "server.changed", text: `${from} -> ${to} in ${place}` };
}

function incidentEvents(
  { incident, acknowledgement }: StoredIncident,
  incidents: readonly StoredIncident[],
): readonly TimelineEvent[] {
  const { id: incidentId, rule, severity, phase, firedAtMs, resolvedAtMs, receivers } = incident;
  const events: TimelineEvent[] = [startEvent(incident, incidents)];
  if (firedAtMs !== null) {
    const names = receivers.length === 0 ? "nobody" : receivers.join(", ");
    const text = `${rule}: firing (${severity}), notifies ${names}`;
    events.push({ atMs: firedAtMs, event: "incident.fired", text, incidentId });
  }
  if (acknowledgement) {
    const { atMs, author, note } = acknowledgement;
    const text = `${rule}: acknowledged by ${author}${note === null ? "" : `: ${note}`}`;
    events.push({ atMs, event: "incident.acknowledged", text, incidentId });
  }
  if (phase.name === "resolved" && resolvedAtMs !== null) {
    const text = `${rule}: resolved (${phase.reason})`;
    events.push({ atMs: resolvedAtMs, event: "incident.resolved", text, incidentId });
  }
  return events;
}

/**
 * An incident that a silence resolved continues as another one with the same start, which is notified later
 * or never. In the timeline that one starts when the first one ends.
 */
function startEvent(incident: Incident, incidents: readonly StoredIncident[]): TimelineEvent {
  const { id: incidentId, rule, startedAtMs, firedAtMs, phase } = incident;
  const silencedAtMs = incidents
    .map((each) => each.incident)
    .filter((each) => each.rule === rule && each.startedAtMs === startedAtMs)
    .flatMap(({ id, resolvedAtMs }) => (id === incidentId ? [] : (resolvedAtMs ?? [])))
    .filter((endedAtMs) => endedAtMs <= (firedAtMs ?? Number.POSITIVE_INFINITY))
    .toSorted((a, b) => b - a)[0];
  if (silencedAtMs !== undefined) {
    const text = `${rule}: continues, silenced`;
    return { atMs: silencedAtMs, event: "incident.muted", text, incidentId };
  }
  const isSilenced = firedAtMs === null && phase.name !== "pending";
  const text = `${rule}: opened${isSilenced ? ", silenced" : ""}`;
  return { atMs: startedAtMs, event: "incident.opened", text, incidentId };
}

function silenceEvents(history: ServerHistory, rules: readonly Rule[]): readonly TimelineEvent[] {
  const facts = factsOf(history, rules);
  const concerns = (match: StoredSilence["match"]): boolean =>
    facts.some((each) => isAbout(match, each));
  const silences = history.silences
    .filter(({ match }) => concerns(match))
    .flatMap(({ author, reason, startsAtMs, endsAtMs }) =>
      endsAtMs <= startsAtMs
        ? []
        : bounds({ startsAtMs, endsAtMs }, "silence", `silence by ${author}: ${reason}`),
    );
  // A window may have opened many times. Shown are the openings during which an incident started.
  const windows = history.windows
    .filter(({ match }) => concerns(match))
    .flatMap((window) => {
      const openings = history.incidents.flatMap(
        ({ incident }) => window.openingAt(incident.startedAtMs) ?? [],
      );
      const byStart = new Map(openings.map((opening) => [opening.startsAtMs, opening]));
      const text = `maintenance window ${window.name}`;
      return [...byStart.values()].flatMap((opening) => bounds(opening, "maintenance", text));
    });
  return [...silences, ...windows];
}

function bounds(
  { startsAtMs, endsAtMs }: { readonly startsAtMs: number; readonly endsAtMs: number },
  kind: "silence" | "maintenance",
  text: string,
): readonly TimelineEvent[] {
  return [
    { atMs: startsAtMs, event: `${kind}.began`, text: `${text} - began` },
    { atMs: endsAtMs, event: `${kind}.ended`, text: `${text} - ended` },
  ];
}

/** What a silence can match: every rule on servers at every place of the server, and its incidents. */
function factsOf(
  { server, changes, incidents }: ServerHistory,
  rules: readonly Rule[],
): readonly SilenceFacts[] {
  const { serverId, serverName } = server;
  const now = server.listed.map(({ target, sandbox, server: { benchmark, tags } }) => ({
    target,
    sandboxId: sandbox.id,
    benchmark,
    tags,
  }));
  const before = changes.map(({ target, sandboxId }) => ({
    target,
    sandboxId,
    benchmark: null,
    tags: [],
  }));
  const places = now.length > 0 ? now : before.slice(0, 1);
  const current = rules
    .filter(({ on }) => on === "server")
    .flatMap((rule) =>
      places.map(({ target, sandboxId, ...seen }) =>
        silenceFacts(rule, target, { kind: "server", sandboxId, serverId, serverName }, seen),
      ),
    );
  const past = incidents.map(({ incident, target }) =>
    silenceFacts(
      { name: incident.rule, severity: incident.severity },
      target,
      incident.subject,
      {},
    ),
  );
  return [...current, ...past];
}

const messageWords: Readonly<Record<StoredNotificationItem["type"], string>> = {
  "incident.firing": "firing",
  "incident.reminder": "still firing",
  "incident.acknowledged": "acknowledged",
  "incident.resolved": "resolved",
};

function queuedEvent(telling: StoredNotificationItem): TimelineEvent {
  const { incidentId, receiver, type, causedAtMs: atMs, notification } = telling;
  const text = `${receiver}: ${messageWords[type]}`;
  const notificationId = notification && { notificationId: notification.id };
  return { atMs, event: "notification.queued", text, incidentId, ...notificationId };
}

/** Every attempt that is stored. Where the last one is not, how the notification ended. */
function deliveryEvents({ items, attempts }: ServerHistory): readonly TimelineEvent[] {
  const attemptsOf = Map.groupBy(attempts, ({ notificationSeq }) => notificationSeq);
  const notifications = new Map(
    items.flatMap(({ notification, receiver, type }) =>
      notification
        ? [[notification.seq, { ...notification, receiver, what: messageWords[type] }] as const]
        : [],
    ),
  );
  return [...notifications.values()].flatMap((notification) => {
    const { seq, id: notificationId, receiver, what, state, settledAtMs } = notification;
    const taken = (atMs: number): TimelineEvent => {
      const text = `${receiver} accepted: ${what}`;
      return { atMs, event: "delivery.taken", text, notificationId };
    };
    const stored = (attemptsOf.get(seq) ?? []).map(({ atMs, reason, detail }): TimelineEvent => {
      if (reason === null) return taken(atMs);
      const why = detail === null ? reason : `${reason}: ${detail}`;
      const text = `${receiver} did not accept: ${what} (${why})`;
      return { atMs, event: "delivery.failed", text, notificationId };
    });
    if (settledAtMs === null) return stored;
    if (state === "delivered") {
      const isStored = stored.some(({ event }) => event === "delivery.taken");
      return isStored ? stored : [...stored, taken(settledAtMs)];
    }
    const reason = state === "dead" ? ` (${notification.lastReason ?? "no reason stored"})` : "";
    const text = `${receiver}: ${state}: ${what}${reason}`;
    return [...stored, { atMs: settledAtMs, event: `notification.${state}`, text, notificationId }];
  });
}
