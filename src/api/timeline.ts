import type { Incident } from "../core/incident.ts";
import { silences as isAbout } from "../core/silence.ts";
import type { SilenceFacts } from "../core/silence.ts";
import { silenceFacts } from "../core/silence-facts.ts";
import type { Rule } from "../core/rule.ts";
import type { StoredChange } from "../store/change-history.ts";
import type { StoredIncident } from "../store/incident-history.ts";
import type { StoredSilence } from "../store/silences.ts";
import type { StoredAttempt, StoredTelling } from "../store/telling-history.ts";
import type { FoundServer } from "./find-server.ts";
import type { TimedWindow } from "../interventions/windows.ts";

/** All that is known of one server. */
export interface ServerHistory {
  readonly server: FoundServer;
  readonly changes: readonly StoredChange[];
  readonly incidents: readonly StoredIncident[];
  readonly silences: readonly StoredSilence[];
  readonly windows: readonly TimedWindow[];
  readonly tellings: readonly StoredTelling[];
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
    ...history.changes.map(changed),
    ...incidents.flatMap((each) => livedThrough(each, incidents)),
    ...silenced(history, rules),
    ...history.tellings.flatMap(told),
    ...attempted(history),
  ];
  return events.filter(({ atMs }) => atMs <= nowMs).toSorted((a, b) => a.atMs - b.atMs);
}

/** Of two that began at once the one that was told first, as its silenced successor is told later. */
function inOrder({ incident: a }: StoredIncident, { incident: b }: StoredIncident): number {
  const orNever = (atMs: number | null): number => atMs ?? Number.MAX_SAFE_INTEGER;
  return a.startedAtMs - b.startedAtMs || orNever(a.firedAtMs) - orNever(b.firedAtMs);
}

function changed({ atMs, target, sandboxId, from, to }: StoredChange): TimelineEvent {
  // Of a server that moves between sandboxes two changes come at once.
  const place = `sandbox ${sandboxId} of ${target.region}/${target.key}`;
  return { atMs, event: "server.changed", text: `${from} -> ${to} in ${place}` };
}

function livedThrough(
  { incident, acknowledgement }: StoredIncident,
  incidents: readonly StoredIncident[],
): readonly TimelineEvent[] {
  const { id: incidentId, rule, severity, phase, firedAtMs, resolvedAtMs } = incident;
  const events: TimelineEvent[] = [began(incident, incidents)];
  if (firedAtMs !== null) {
    const text = `${rule}: fires (${severity}), told to ${nameList(incident.receivers)}`;
    events.push({ atMs: firedAtMs, event: "incident.fired", text, incidentId });
  }
  if (acknowledgement) {
    const { atMs, author, note } = acknowledgement;
    const text = `${rule}: acknowledged by ${author}${note === null ? "" : `: ${note}`}`;
    events.push({ atMs, event: "incident.acknowledged", text, incidentId });
  }
  if (phase.name === "resolved" && resolvedAtMs !== null) {
    const text = `${rule}: over (${phase.reason})`;
    events.push({ atMs: resolvedAtMs, event: "incident.resolved", text, incidentId });
  }
  return events;
}

/**
 * What a silence took back goes on as another incident that began when the first did, and is told
 * later or never: that one begins for a reader when the other one ends.
 */
function began(incident: Incident, incidents: readonly StoredIncident[]): TimelineEvent {
  const { id: incidentId, rule, startedAtMs, firedAtMs, phase } = incident;
  const takenBackAtMs = incidents
    .map((each) => each.incident)
    .filter((each) => each.rule === rule && each.startedAtMs === startedAtMs)
    .flatMap(({ id, resolvedAtMs }) => (id === incidentId ? [] : (resolvedAtMs ?? [])))
    .filter((endedAtMs) => endedAtMs <= (firedAtMs ?? Number.POSITIVE_INFINITY))
    .toSorted((a, b) => b - a)[0];
  if (takenBackAtMs !== undefined) {
    const text = `${rule}: goes on, and a silence keeps it from being told`;
    return { atMs: takenBackAtMs, event: "incident.muted", text, incidentId };
  }
  const untold = firedAtMs === null && phase.name !== "pending";
  const text = `${rule}: opened${untold ? ", and a silence keeps it from being told" : ""}`;
  return { atMs: startedAtMs, event: "incident.opened", text, incidentId };
}

function silenced(history: ServerHistory, rules: readonly Rule[]): readonly TimelineEvent[] {
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
  // A window may have opened any number of times: told are those that an incident fell into.
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

/** What a silence can be asked about: each rule on servers, wherever the server is or was. */
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

const messageWords: Readonly<Record<StoredTelling["type"], string>> = {
  "incident.firing": "that it fires",
  "incident.reminder": "that it still fires",
  "incident.acknowledged": "who acknowledged it",
  "incident.resolved": "that it is over",
};

function told({
  incidentId,
  receiver,
  type,
  causedAtMs,
  notification,
}: StoredTelling): TimelineEvent[] {
  const what = `${receiver} is to be told ${messageWords[type]}`;
  return [
    {
      atMs: causedAtMs,
      event: "notification.queued",
      text: what,
      incidentId,
      ...(notification && { notificationId: notification.id }),
    },
  ];
}

/** Each attempt that was kept; where they were not, how it ended. */
function attempted({ tellings, attempts }: ServerHistory): readonly TimelineEvent[] {
  const notifications = new Map(
    tellings.flatMap(({ notification, receiver, type }) =>
      notification
        ? [[notification.seq, { ...notification, receiver, what: messageWords[type] }] as const]
        : [],
    ),
  );
  const bySeq = Map.groupBy(attempts, ({ notificationSeq }) => notificationSeq);
  return [...notifications.values()].flatMap(
    ({ seq, id: notificationId, receiver, what, state, settledAtMs, lastReason }) => {
      const kept = (bySeq.get(seq) ?? []).map(({ atMs, reason, detail }): TimelineEvent => {
        if (reason === null) {
          const text = `${receiver} was told ${what}`;
          return { atMs, event: "delivery.taken", text, notificationId };
        }
        const why = detail === null ? reason : `${reason}: ${detail}`;
        const text = `${receiver} did not take it, ${what} (${why})`;
        return { atMs, event: "delivery.failed", text, notificationId };
      });
      const delivered = attempts.some((each) => each.notificationSeq === seq && !each.reason);
      if (settledAtMs === null || (state === "delivered" && delivered)) return kept;
      return [...kept, settled({ receiver, what, state, settledAtMs, lastReason, notificationId })];
    },
  );
}

function settled(end: {
  readonly receiver: string;
  readonly what: string;
  readonly state: string;
  readonly settledAtMs: number;
  readonly lastReason: string | null;
  readonly notificationId: string;
}): TimelineEvent {
  const { receiver, what, state, settledAtMs: atMs, lastReason, notificationId } = end;
  if (state === "delivered") {
    const text = `${receiver} was told ${what}`;
    return { atMs, event: "delivery.taken", text, notificationId };
  }
  const text =
    state === "dead"
      ? `given up telling ${receiver} ${what} (${lastReason ?? "no reason kept"})`
      : `what ${receiver} was to be told is ${state}: ${what}`;
  return { atMs, event: `notification.${state}`, text, notificationId };
}

function nameList(names: readonly string[]): string {
  return names.length === 0 ? "nobody" : names.join(", ");
}
