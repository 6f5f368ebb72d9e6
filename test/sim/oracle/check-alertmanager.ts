import type { PostedAlert } from "../../support/postable-alerts.ts";
import type { History } from "../history.ts";
import { longestWaitMs } from "../scenario.ts";
import type { ScenarioAlertmanager } from "../receiver-types.ts";
import type { Scenario } from "../scenario.ts";
import { stalledMs } from "./check-lives.ts";
import { isOver, receiverRule } from "./check-receivers.ts";
import { hasStages, tellsEnd } from "./routes.ts";
import { probeText } from "./told.ts";
import type { ToldIncident } from "./told.ts";
import { violation } from "./violation.ts";
import type { Violation } from "./violation.ts";
import { timesOf } from "./wall-clocks.ts";

/** An alert that the Alertmanager was sent. All times are the world's. */
interface SentAlert {
  readonly incident: string;
  /** Its labels: what identifies it. */
  readonly identity: string;
  readonly labels: PostedAlert["labels"];
  readonly sentMs: number;
  readonly atMs: number;
  readonly endsMs: number;
  readonly taken: boolean;
}

interface Stretch {
  readonly fromMs: number;
  readonly toMs: number;
}

/** A time in which an alert fires at the Alertmanager, by one request. */
interface Firing extends Stretch {
  readonly incident: string;
}

/** When an incident certainly fires. */
interface Incident extends ToldIncident {
  readonly fires: Stretch;
  /** When it is certainly over; Infinity: it is not known. */
  readonly overMs: number;
}

/** Alerts have an end so far ahead. */
const aheadMs = 5 * 60_000;

/** Within this time each alert is sent again: a minute, and the way to the receiver. */
const repostMs = 62_000;

/** Longer than it takes to store what a poll decided. */
const settlingMs = 1_000;

/** A request that is not answered is given up after so long. */
const timeoutMs = 15_000;

/**
 * That the Alertmanager has the state that the others were told of: what fires fires there, and what is over does
 * not, apart from the minute until the next request. Times in which no process runs, in which the store or the
 * Alertmanager fails, or in which a process is held up excuse a difference.
 */
export function checkAlertmanager(
  scenario: Scenario,
  history: History,
  told: readonly ToldIncident[],
): readonly Violation[] {
  const { alertmanager } = scenario;
  if (alertmanager === null) return [];
  const sent = sentAlerts(history);
  const byIncident = Map.groupBy(sent, ({ incident }) => incident);
  const fired = firings(history, sent);
  const settled = settledTimes(history);
  const known = namedIncidents(scenario, history);
  const due = told.filter(
    ({ id, rule, about }) =>
      known.has(id) &&
      (rule === receiverRule ? about !== alertmanager.name : alertmanager.rules.includes(rule)),
  );
  const incidents = due.map((each) => whenFiring(scenario, history, each));
  return [
    ...checkInvented(scenario, history, alertmanager, due, byIncident),
    ...checkRefusals(scenario, history, alertmanager, told),
    ...incidents.flatMap((incident) => {
      const alerts = byIncident.get(incident.id) ?? [];
      const own = fired.get(alerts[0]?.identity ?? "") ?? [];
      return [
        ...checkSent(history, incident, alerts),
        ...checkState(history, incident, own, settled),
      ];
    }),
  ];
}

/** The ids that messages name: one for Slack names none. */
function namedIncidents({ receivers }: Scenario, { attempts }: History): ReadonlySet<string> {
  const slack = receivers.flatMap(({ name, type }) => (type === "slack" ? [name] : []));
  return new Set(
    attempts
      .filter(({ receiver }) => !slack.includes(receiver))
      .flatMap(({ message }) => message.data.incidents.map(({ id }) => id)),
  );
}

function sentAlerts({ posts, wallClocks }: History): readonly SentAlert[] {
  return posts.flatMap(({ alerts, sentMs, atMs, taken }) => {
    const { offsetMs = 0 } = wallClocks.findLast(({ fromMs }) => fromMs <= sentMs) ?? {};
    return alerts.map(({ labels, annotations, endsAt }) => ({
      incident: annotations["incident_id"] ?? "",
      identity: JSON.stringify(Object.entries(labels).map(String).toSorted()),
      labels,
      sentMs,
      atMs,
      endsMs: Date.parse(endsAt) - offsetMs,
      taken,
    }));
  });
}

function isFiring({ endsMs, sentMs }: SentAlert): boolean {
  return endsMs > sentMs;
}

/** By the labels of each alert, when it fires: each request that is taken replaces the one before. */
function firings(
  { endMs }: History,
  sent: readonly SentAlert[],
): ReadonlyMap<string, readonly Firing[]> {
  const byIdentity = Map.groupBy(
    sent.filter(({ taken }) => taken),
    ({ identity }) => identity,
  );
  return new Map(
    Array.from(byIdentity, ([identity, alerts]) => [
      identity,
      alerts.flatMap((alert, at) => {
        const { incident, atMs: fromMs, endsMs } = alert;
        const toMs = Math.min(endsMs, alerts[at + 1]?.atMs ?? endMs);
        return isFiring(alert) && toMs > fromMs ? [{ incident, fromMs, toMs }] : [];
      }),
    ]),
  );
}

/** The times in which all alerts have been sent again since anything happened to the process, its store or the Alertmanager. */
function settledTimes(history: History): readonly Stretch[] {
  const disturbances = disturbancesOf(history).toSorted((one, other) => one.fromMs - other.fromMs);
  return history.lives.flatMap(({ watchMs, lastPollMs }): readonly Stretch[] => {
    if (watchMs === null) return [];
    const polled = { fromMs: watchMs, toMs: lastPollMs ?? history.endMs };
    return without(polled, disturbances).flatMap(({ fromMs, toMs }) =>
      stretch(fromMs + repostMs, toMs),
    );
  });
}

function disturbancesOf({ storeFaults, stalls, dueMs, posts }: History): readonly Stretch[] {
  const lasting = (fromMs: number, ms: number): Stretch => ({ fromMs, toMs: fromMs + ms });
  return [
    ...Array.from(storeFaults.keys(), (moment) => lasting(dueMs[moment] ?? 0, 0)),
    ...Array.from(stalls, ([moment, ms]) => lasting(dueMs[moment] ?? 0, ms)),
    // While many requests are unanswered, no other is sent.
    ...posts.flatMap(({ atMs, taken, answered }) => {
      const ms = answered === null ? timeoutMs : answered.atMs - atMs;
      return taken && ms <= settlingMs ? [] : [lasting(atMs, ms)];
    }),
  ];
}

/** Nothing if it is empty. */
function stretch(fromMs: number, toMs: number): readonly Stretch[] {
  return toMs > fromMs ? [{ fromMs, toMs }] : [];
}

/** What of a stretch lies outside others, which are in order. */
function without({ fromMs, toMs }: Stretch, others: readonly Stretch[]): readonly Stretch[] {
  const left: Stretch[] = [];
  let sinceMs = fromMs;
  for (const other of others) {
    if (other.fromMs > toMs) break;
    left.push(...stretch(sinceMs, other.fromMs));
    sinceMs = Math.max(sinceMs, other.toMs);
  }
  return [...left, ...stretch(sinceMs, toMs)];
}

function common(one: Stretch, other: Stretch): readonly Stretch[] {
  return stretch(Math.max(one.fromMs, other.fromMs), Math.min(one.toMs, other.toMs));
}

function whenFiring(scenario: Scenario, history: History, incident: ToldIncident): Incident {
  const { id, heardMs, resolved, about } = incident;
  const names = scenario.receivers.map(({ name }) => name).filter((name) => name !== about);
  const rule = scenario.rules.find(({ name }) => name === incident.rule) ?? { receivers: names };
  const damage = history.damages.find(
    ({ effect }) => effect.kind === "incident" && effect.id === id,
  );
  const damagedMs = history.lives[(damage?.life ?? 0) - 1]?.startMs ?? Infinity;
  const overMs = resolved === null ? [] : timesOf(history, resolved.utcMs);
  const goesOn = resolved === null && tellsEnd(scenario, history, rule, id);
  const toMs = goesOn ? tellableUntilMs(history) : (overMs[0] ?? heardMs);
  return {
    ...incident,
    fires: { fromMs: heardMs, toMs: Math.min(toMs, damagedMs) },
    overMs: overMs.at(-1) ?? Infinity,
  };
}

/** What happens later may not be told by the end. */
function tellableUntilMs({ endMs }: History): number {
  return endMs - 1.5 * longestWaitMs;
}

function checkInvented(
  scenario: Scenario,
  history: History,
  { name }: ScenarioAlertmanager,
  due: readonly ToldIncident[],
  byIncident: ReadonlyMap<string, readonly SentAlert[]>,
): readonly Violation[] {
  const known = new Set(due.map(({ id }) => id));
  const isTold = ({ labels, sentMs }: SentAlert): boolean => {
    if (sentMs > tellableUntilMs(history)) return false;
    if (labels["alertname"] !== receiverRule) return true;
    // Of the only other one that names ids, nobody else is told.
    return (
      labels["receiver"] === name ||
      (!hasStages(scenario) &&
        scenario.receivers.some(
          (each) => each.type !== "slack" && each.name !== labels["receiver"],
        ))
    );
  };
  return Array.from(byIncident).flatMap(([id, [first]]) =>
    known.has(id) || first === undefined || !isTold(first)
      ? []
      : [violation(`${name} was sent alerts of ${id}, which it was not to be sent`, id)],
  );
}

/** That the others hear of an Alertmanager that refuses notifications, and of no other. */
function checkRefusals(
  scenario: Scenario,
  history: History,
  { name }: ScenarioAlertmanager,
  told: readonly ToldIncident[],
): readonly Violation[] {
  return told.flatMap(({ id, about, heardMs, resolved }) => {
    if (about !== name) return [];
    const isRefused = history.posts.some(({ atMs, refused }) => refused && atMs <= heardMs);
    return [
      ...(isRefused ? [] : [violation(`${id}: ${name} has refused nothing`, id, name)]),
      ...(isOver(scenario, history, name, id, resolved)
        ? []
        : [violation(`${id} went on, though ${name} took what was sent again`, id)]),
    ];
  });
}

/** That the alerts of an incident have its labels and times. */
function checkSent(
  history: History,
  incident: Incident,
  alerts: readonly SentAlert[],
): readonly Violation[] {
  const { id, startedUtcMs, overMs } = incident;
  const [startMs = 0] = timesOf(history, startedUtcMs);
  const latestMs = overMs + settlingMs + stalledMs(history, overMs - settlingMs);
  const firing = alerts.filter(isFiring);
  const faults = [
    ...(new Set(alerts.map(({ identity }) => identity)).size > 1
      ? ["has several sets of labels"]
      : []),
    ...(alerts.every(({ labels }) => hasLabelsOf(labels, incident))
      ? []
      : ["has labels of another"]),
    ...(firing.some(({ endsMs, sentMs }) => endsMs - sentMs > aheadMs) ? ["ends too late"] : []),
    ...(firing.some(({ sentMs }) => sentMs < startMs) ? ["was sent before it started"] : []),
    ...(firing.some(({ sentMs }) => sentMs > latestMs) ? ["was sent as firing after its end"] : []),
  ];
  return faults.map((fault) => violation(`the alert of ${id} ${fault}`, id));
}

function hasLabelsOf(labels: PostedAlert["labels"], incident: ToldIncident): boolean {
  const { region = null, key = null, sandbox_id: box, server_name: name = null, probe } = labels;
  const target = `${region}/${key}`;
  return (
    labels["alertname"] === incident.rule &&
    target === incident.target &&
    (box === undefined ? null : `${box} ${labels["server_id"]}`) === incident.server &&
    (labels["subject"] === "pool" ? `${region} ${key} ${name}` : null) === incident.pool &&
    (probe === undefined ? null : probeText(probe, target)) === incident.probe &&
    (labels["receiver"] ?? null) === incident.about
  );
}

/** That an alert fires while its incident does, and no longer. */
function checkState(
  { wallClocks }: History,
  { id, rule, fires, overMs }: Incident,
  own: readonly Firing[],
  settled: readonly Stretch[],
): readonly Violation[] {
  const known = { fromMs: fires.fromMs + repostMs, toMs: fires.toMs };
  const missing = settled
    .flatMap((each) => common(each, known))
    .flatMap((each) => without(each, own));
  // Resolved alerts are sent for some time by the wall clock.
  const left = own.filter(
    ({ incident, toMs }) =>
      incident === id && !wallClocks.some(({ fromMs }) => fromMs > overMs && fromMs <= toMs),
  );
  const over = { fromMs: overMs + repostMs, toMs: Infinity };
  const lingering = left
    .flatMap((each) => common(each, over))
    .flatMap((each) => settled.flatMap((some) => common(some, each)));
  const tell = (what: string, [first]: readonly Stretch[]): readonly Violation[] =>
    first === undefined
      ? []
      : [violation(`${rule} ${id} ${what} from ${first.fromMs} ms to ${first.toMs} ms`, id)];
  return [
    ...tell("did not fire at the Alertmanager", missing),
    ...tell("still fired at the Alertmanager", lingering),
  ];
}
