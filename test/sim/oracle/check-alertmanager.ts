import { longestWaitMs } from "../draw/receivers.ts";
import type { ScenarioAlertmanager } from "../draw/receivers.ts";
import type { Period, Post } from "../history.ts";
import { checkReceiverIncident, receiverRule } from "./check-deliveries.ts";
import { probeText, stalledMs, timesOf, violation } from "./evidence.ts";
import type { Evidence, NotifiedIncident, Violation } from "./evidence.ts";
import { common, period, without } from "./periods.ts";
import { hasStages, notifiesEnd } from "./routes.ts";

/** An alert that the Alertmanager was sent. All times are the world's. */
interface SentAlert extends Pick<Post, "sentMs" | "atMs" | "taken"> {
  readonly incident: string;
  /** Its labels: what identifies it. */
  readonly identity: string;
  readonly labels: Post["alerts"][number]["labels"];
  readonly endsMs: number;
  readonly isFiring: boolean;
}

/** A time in which an alert fires at the Alertmanager, by one request. */
interface Firing extends Period {
  readonly incident: string;
}

/** The longest time that an alert's end is ahead. */
const aheadMs = 5 * 60_000;

/** Within this time each alert is sent again: a minute, and the way to the receiver. */
const repostMs = 62_000;

/** Longer than it takes to store what a poll decided. */
const settlingMs = 1_000;

/** The timeout of a request. */
const timeoutMs = 15_000;

/**
 * The Alertmanager has the state that the other receivers were notified of: what fires fires there, and what is over
 * does not, apart from the minute until the next request. Times in which no process runs, in which the store or
 * the Alertmanager fails, or in which a process is held up excuse a difference.
 */
export function checkAlertmanager(evidence: Evidence): readonly Violation[] {
  const { alertmanager } = evidence.scenario;
  if (alertmanager === null) return [];
  const alerts = sentAlerts(evidence);
  const byIncident = Map.groupBy(alerts, ({ incident }) => incident);
  const fired = firings(evidence, alerts);
  const settled = settledTimes(evidence);
  const incidents = dueIncidents(evidence, alertmanager);
  const due = new Set(incidents.map(({ id }) => id));
  const invented = alerts.filter(
    (alert, at) =>
      !due.has(alert.incident) &&
      alerts.findIndex(({ incident }) => incident === alert.incident) === at &&
      isNotified(evidence, alertmanager, alert),
  );
  const own = evidence.incidents.filter(({ receiver }) => receiver === alertmanager.name);
  return [
    ...invented.map(({ incident: id }) =>
      violation(`${alertmanager.name} was sent alerts of ${id}, which it was not to be sent`, id),
    ),
    ...own.flatMap((incident) => {
      const isRefused = evidence.posts.some(
        ({ atMs, refused }) => refused !== null && atMs <= incident.notifiedMs,
      );
      return checkReceiverIncident(evidence, incident, !isRefused);
    }),
    ...incidents.flatMap((incident) => {
      const sent = byIncident.get(incident.id) ?? [];
      const firing = fired.get(sent[0]?.identity ?? "") ?? [];
      const faults = [
        ...alertFaults(evidence, incident, sent),
        ...stateFaults(evidence, incident, firing, settled),
      ];
      return faults.map((fault) => violation(`the alert of ${incident.id} ${fault}`, incident.id));
    }),
  ];
}

/** The incidents that other receivers were notified of with their ids: messages for Slack have none. */
function dueIncidents(
  { scenario, attempts, incidents }: Evidence,
  { name, rules }: ScenarioAlertmanager,
): readonly NotifiedIncident[] {
  const slack = scenario.receivers.find(({ type }) => type === "slack")?.name;
  const messages = attempts.filter(({ receiver }) => receiver !== slack);
  const named = new Set(
    messages.flatMap(({ message }) => message.data.incidents.map(({ id }) => id)),
  );
  return incidents.filter(
    ({ id, rule, receiver }) =>
      named.has(id) && (rule === receiverRule ? receiver !== name : rules.includes(rule)),
  );
}

function sentAlerts({ posts, wallClocks }: Evidence): readonly SentAlert[] {
  return posts.flatMap(({ alerts, sentMs, atMs, taken }) => {
    const { offsetMs = 0 } = wallClocks.findLast(({ fromMs }) => fromMs <= sentMs) ?? {};
    return alerts.map(({ labels, annotations, endsAt }) => {
      const endsMs = Date.parse(endsAt) - offsetMs;
      const identity = JSON.stringify(Object.entries(labels).map(String).toSorted());
      const incident = annotations["incident_id"] ?? "";
      const isFiring = endsMs > sentMs;
      return { incident, identity, labels, sentMs, atMs, endsMs, taken, isFiring };
    });
  });
}

/** By the labels of each alert, when it fires: each accepted request replaces the one before. */
function firings(
  { endMs }: Evidence,
  alerts: readonly SentAlert[],
): ReadonlyMap<string, readonly Firing[]> {
  const taken = alerts.filter((alert) => alert.taken);
  const byIdentity = Map.groupBy(taken, ({ identity }) => identity);
  return new Map(
    Array.from(byIdentity, ([identity, own]) => [
      identity,
      own.flatMap(({ incident, atMs: fromMs, endsMs, isFiring }, at) => {
        const toMs = Math.min(endsMs, own[at + 1]?.atMs ?? endMs);
        return isFiring && toMs > fromMs ? [{ incident, fromMs, toMs }] : [];
      }),
    ]),
  );
}

/** The times in which all alerts have been sent again since any fault of the process, its store or the Alertmanager. */
function settledTimes(evidence: Evidence): readonly Period[] {
  const { storeFaults, stalls, dueMs, posts, lives, endMs } = evidence;
  const faults = [
    ...storeFaults.keys().map((moment) => lasting(dueMs[moment] ?? 0, 0)),
    ...stalls.entries().map(([moment, ms]) => lasting(dueMs[moment] ?? 0, ms)),
    // While many requests are unanswered, no other is sent.
    ...posts.flatMap(({ atMs, taken, answered }) => {
      const ms = answered === null ? timeoutMs : answered.atMs - atMs;
      return taken && ms <= settlingMs ? [] : [lasting(atMs, ms)];
    }),
  ].toSorted((one, other) => one.fromMs - other.fromMs);
  return lives.flatMap(({ watchMs, lastPollMs }): readonly Period[] => {
    if (watchMs === null) return [];
    const polled = { fromMs: watchMs, toMs: lastPollMs ?? endMs };
    return without(polled, faults).flatMap(({ fromMs, toMs }) => period(fromMs + repostMs, toMs));
  });
}

function lasting(fromMs: number, ms: number): Period {
  return { fromMs, toMs: fromMs + ms };
}

/** What happens later may not be notified by the end. */
function lastNotifiableMs({ endMs }: Evidence): number {
  return endMs - 1.5 * longestWaitMs;
}

/** Whether another receiver should have been notified of the incident of an alert. */
function isNotified(
  evidence: Evidence,
  { name }: ScenarioAlertmanager,
  { labels, sentMs }: SentAlert,
): boolean {
  const { scenario } = evidence;
  const { alertname, receiver } = labels;
  if (sentMs > lastNotifiableMs(evidence)) return false;
  if (alertname !== receiverRule || receiver === name) return true;
  // An incident of the only receiver whose messages have ids goes to no other.
  const others = scenario.receivers.filter(
    (each) => each.type !== "slack" && each.name !== receiver,
  );
  return !hasStages(scenario) && others.length > 0;
}

/** The alerts of an incident have its labels and times. */
function alertFaults(
  evidence: Evidence,
  incident: NotifiedIncident,
  alerts: readonly SentAlert[],
): readonly string[] {
  const [startMs = 0] = timesOf(evidence, incident.startedUtcMs);
  const overMs = overMsOf(evidence, incident);
  const latestMs = overMs + settlingMs + stalledMs(evidence, overMs - settlingMs);
  const firing = alerts.filter(({ isFiring }) => isFiring);
  const faults: Readonly<Record<string, boolean>> = {
    "has several sets of labels": new Set(alerts.map(({ identity }) => identity)).size > 1,
    "has labels of another": alerts.some(({ labels }) => !hasLabelsOf(labels, incident)),
    "ends too late": firing.some(({ endsMs, sentMs }) => endsMs - sentMs > aheadMs),
    "was sent before it started": firing.some(({ sentMs }) => sentMs < startMs),
    "was sent as firing after its end": firing.some(({ sentMs }) => sentMs > latestMs),
  };
  return Object.keys(faults).filter((fault) => faults[fault]);
}

/** When an incident is certainly over; Infinity: it is not known. */
function overMsOf(evidence: Evidence, { resolved }: NotifiedIncident): number {
  return resolved === null ? Infinity : (timesOf(evidence, resolved.utcMs).at(-1) ?? Infinity);
}

function hasLabelsOf(labels: SentAlert["labels"], incident: NotifiedIncident): boolean {
  const { region = null, key = null, sandbox_id: box, server_name: name = null, probe } = labels;
  const target = `${region}/${key}`;
  return (
    labels["alertname"] === incident.rule &&
    target === incident.target &&
    (box === undefined ? null : `${box} ${labels["server_id"]}`) === incident.server &&
    (labels["subject"] === "pool" ? `${region} ${key} ${name}` : null) === incident.pool &&
    (probe === undefined ? null : probeText(probe, target)) === incident.probe &&
    (labels["receiver"] ?? null) === incident.receiver
  );
}

/** An alert fires while its incident does, and no longer. */
function stateFaults(
  evidence: Evidence,
  incident: NotifiedIncident,
  firing: readonly Firing[],
  settled: readonly Period[],
): readonly string[] {
  const { id, notifiedMs } = incident;
  const due = { fromMs: notifiedMs + repostMs, toMs: firesUntilMs(evidence, incident) };
  const missing = settled
    .flatMap((each) => common(each, due))
    .flatMap((each) => without(each, firing));
  const overMs = overMsOf(evidence, incident);
  const over = { fromMs: overMs + repostMs, toMs: Infinity };
  // Resolved alerts are sent for some time by the wall clock.
  const isStepped = ({ toMs }: Firing): boolean =>
    evidence.wallClocks.some(({ fromMs }) => fromMs > overMs && fromMs <= toMs);
  const lingering = firing
    .filter((each) => each.incident === id && !isStepped(each))
    .flatMap((each) => common(each, over))
    .flatMap((each) => settled.flatMap((some) => common(some, each)));
  const says = (what: string, periods: readonly Period[]): readonly string[] =>
    periods.slice(0, 1).map(({ fromMs, toMs }) => `${what} from ${fromMs} ms to ${toMs} ms`);
  return [
    ...says("did not fire at the Alertmanager", missing),
    ...says("still fired at the Alertmanager", lingering),
  ];
}

function firesUntilMs(evidence: Evidence, incident: NotifiedIncident): number {
  const { scenario, lives, damages } = evidence;
  const { id, notifiedMs, resolved, receiver } = incident;
  const names = scenario.receivers.map(({ name }) => name).filter((name) => name !== receiver);
  const rule = scenario.rules.find(({ name }) => name === incident.rule) ?? { receivers: names };
  const damage = damages.find(({ effect }) => effect.kind === "incident" && effect.id === id);
  const damagedMs = lives[(damage?.life ?? 0) - 1]?.startMs ?? Infinity;
  const goesOn = resolved === null && notifiesEnd(evidence, rule, id);
  const endsMs = resolved === null ? undefined : timesOf(evidence, resolved.utcMs)[0];
  return Math.min(goesOn ? lastNotifiableMs(evidence) : (endsMs ?? notifiedMs), damagedMs);
}
