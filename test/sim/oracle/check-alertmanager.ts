import type { Period } from "../history.ts";
import { lastNotifiableMs, receiverRule, timesOf, violation } from "./evidence.ts";
import type { Evidence, NotifiedIncident, Violation } from "./evidence.ts";
import { inhibitedUntilMs } from "./inhibition.ts";
import { common, period, without } from "./periods.ts";
import { notifiesEnd } from "./routes.ts";

/** A time in which an alert fires at the Alertmanager, by one request. In the world's time. */
interface Firing extends Period {
  readonly incident: string;
}

/** Within this time each alert is sent again: a minute, and the way to the receiver. */
const repostMs = 62_000;

/** An answer that takes longer delays other requests. */
const slowMs = 1_000;

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
  const fired = firings(evidence);
  const settled = settledTimes(evidence);
  return evidence.incidents.flatMap((incident) => {
    const { id, rule, receiver } = incident;
    const isDue =
      rule === receiverRule ? receiver !== alertmanager.name : alertmanager.rules.includes(rule);
    const own = fired.find((firing) => firing.some((each) => each.incident === id)) ?? [];
    if (!isDue) {
      if (own.length === 0) return [];
      return [violation(`${alertmanager.name} was sent ${id}, which it was not to be sent`, id)];
    }
    const inhibitedMs = inhibitedUntilMs(evidence, id, alertmanager.name);
    if (inhibitedMs === null) return [];
    const notifiedMs = Math.max(incident.notifiedMs, inhibitedMs);
    return stateFaults(evidence, { ...incident, notifiedMs }, own, settled).map((fault) =>
      violation(`the alert of ${id} ${fault}`, id),
    );
  });
}

/** For each set of labels, when its alert fires: each accepted request replaces the one before. */
function firings({ posts, wallClocks, endMs }: Evidence): readonly (readonly Firing[])[] {
  const sent = posts
    .filter(({ taken }) => taken)
    .flatMap(({ alerts, sentMs, atMs: fromMs }) => {
      const { offsetMs = 0 } = wallClocks.findLast((clock) => clock.fromMs <= sentMs) ?? {};
      return alerts.map(({ labels, annotations, endsAt }) => ({
        labels: JSON.stringify(Object.entries(labels).map(String).toSorted()),
        incident: annotations["incident_id"] ?? "",
        fromMs,
        toMs: Date.parse(endsAt) - offsetMs,
        isFiring: Date.parse(endsAt) - offsetMs > sentMs,
      }));
    });
  return Array.from(Map.groupBy(sent, ({ labels }) => labels).values(), (own) =>
    own.flatMap(({ incident, fromMs, isFiring, ...alert }, at) => {
      const toMs = Math.min(alert.toMs, own[at + 1]?.fromMs ?? endMs);
      return isFiring && toMs > fromMs ? [{ incident, fromMs, toMs }] : [];
    }),
  );
}

/** The times in which all alerts have been sent again since any fault of the process, its store or the Alertmanager. */
function settledTimes({ storeFaults, stalls, dueMs, posts, lives, endMs }: Evidence) {
  const lasting = (fromMs: number, ms: number): Period => ({ fromMs, toMs: fromMs + ms });
  const faults = [
    ...storeFaults.keys().map((moment) => lasting(dueMs[moment] ?? 0, 0)),
    ...stalls.entries().map(([moment, ms]) => lasting(dueMs[moment] ?? 0, ms)),
    // While many requests are unanswered, no other is sent.
    ...posts.flatMap(({ atMs, taken, answered }) => {
      const ms = answered === null ? timeoutMs : answered.atMs - atMs;
      return taken && ms <= slowMs ? [] : [lasting(atMs, ms)];
    }),
  ].toSorted((one, other) => one.fromMs - other.fromMs);
  return lives.flatMap(({ watchMs, lastPollMs }): readonly Period[] => {
    if (watchMs === null) return [];
    const polled = { fromMs: watchMs, toMs: lastPollMs ?? endMs };
    return without(polled, faults).flatMap(({ fromMs, toMs }) => period(fromMs + repostMs, toMs));
  });
}

/** An alert fires while its incident does, and no longer. */
function stateFaults(
  evidence: Evidence,
  incident: NotifiedIncident,
  firing: readonly Firing[],
  settled: readonly Period[],
): readonly string[] {
  const { id, notifiedMs, resolved } = incident;
  const due = { fromMs: notifiedMs + repostMs, toMs: firesUntilMs(evidence, incident) };
  const missing = settled
    .flatMap((each) => common(each, due))
    .flatMap((each) => without(each, firing));
  const overMs = resolved && timesOf(evidence, resolved.utcMs).at(-1);
  const over = { fromMs: (overMs ?? Infinity) + repostMs, toMs: Infinity };
  // Resolved alerts are sent for some time by the wall clock.
  const isStepped = ({ toMs }: Firing): boolean =>
    evidence.wallClocks.some(({ fromMs }) => fromMs > (overMs ?? Infinity) && fromMs <= toMs);
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
  const { scenario } = evidence;
  const { id, notifiedMs, resolved, receiver } = incident;
  const names = scenario.receivers.map(({ name }) => name).filter((name) => name !== receiver);
  const rule = scenario.rules.find(({ name }) => name === incident.rule) ?? { receivers: names };
  const goesOn = resolved === null && notifiesEnd(evidence, rule, id);
  const endsMs = resolved === null ? undefined : timesOf(evidence, resolved.utcMs)[0];
  return goesOn ? lastNotifiableMs(evidence) : (endsMs ?? notifiedMs);
}
