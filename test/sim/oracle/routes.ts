import type { Stage } from "../draw/receivers.ts";
import type { Life } from "../history.ts";
import type { Scenario } from "../scenario.ts";
import { hasFault, timesOf } from "./evidence.ts";
import type { Evidence, NotifiedIncident } from "./evidence.ts";

/**
 * Whether a receiver must be notified of an incident, and whether it may be. It is if the incident fires while the
 * rule names the receiver, or was notified before the rule named it and goes on.
 */
export function routeOf(
  evidence: Evidence,
  receiver: string,
  incident: NotifiedIncident,
): { readonly must: boolean; readonly may: boolean } {
  const { scenario, lives } = evidence;
  const isNamed = ({ stage }: { readonly stage: Stage }): boolean => {
    if (!stage.receivers.has(receiver)) return false;
    if (incident.receiver !== null) return incident.receiver !== receiver;
    return stage.routes.get(incident.rule)?.includes(receiver) ?? false;
  };
  if (!hasStages(scenario)) {
    const must = isNamed({ stage: scenario.stages[0] });
    return { must, may: must };
  }
  const fromMs = timesOf(evidence, incident.startedUtcMs)[0] ?? 0;
  const overMs = incident.resolved && timesOf(evidence, incident.resolved.utcMs).at(-1);
  const livesUntil = (untilMs: number): readonly Life[] =>
    lives.filter(
      ({ watchMs, startMs, endMs }) =>
        watchMs !== null && startMs <= untilMs && (endMs ?? Infinity) >= fromMs,
    );
  const fired = livesUntil(incident.notifiedMs);
  const known = livesUntil(overMs ?? evidence.endMs);
  const isFiredNamed = fired.length > 0 && fired.every(isNamed);
  return {
    must: isFiredNamed || known.some((life) => isNamed(life) && wentOnIn(evidence, life, incident)),
    may: known.some(isNamed),
  };
}

/** Whether a process without faults twice observed the server of an incident that was notified before. */
function wentOnIn(evidence: Evidence, life: Life, incident: NotifiedIncident): boolean {
  const { target, server, notifiedMs, resolved } = incident;
  const rule = evidence.scenario.rules.find(({ name }) => name === incident.rule);
  if (server === null || rule?.on !== "server" || evidence.wallClocks.length > 1) return false;
  if (life.ended?.how !== "stopped" || hasFault(evidence, life.number)) return false;
  const later = evidence.listings
    .filter((each) => each.target === target && each.atMs > notifiedMs)
    .map((each) => ({ ...each, holds: each.shown.get(server)?.status === rule.status }));
  // Without a notified end it goes on at most until the server had another status.
  const overMs =
    resolved === null
      ? later.find(({ holds }) => !holds)?.atMs
      : timesOf(evidence, resolved.utcMs)[0];
  const observed = later.filter(
    (each) => each.life === life.number && each.atMs < (overMs ?? Infinity) && each.holds,
  );
  return observed.length >= 2 && life.rules.includes(rule);
}

/** Whether the configuration changes what it says of receivers. */
export function hasStages({ stages }: Scenario): boolean {
  return stages.length > 1;
}

/** Whether a receiver is configured at the end: else what is due to it waits. */
export function isConfiguredAtEnd({ stages }: Scenario, receiver: string): boolean {
  return stages.at(-1)?.receivers.has(receiver) ?? true;
}

/** Whether some receiver has to be notified of an incident's end. */
export function notifiesEnd(
  evidence: Evidence,
  rule: { readonly receivers: readonly string[] },
  incidentId: string,
): boolean {
  const { scenario } = evidence;
  return scenario.receivers.some(({ name, sendResolved }) => {
    if (!sendResolved) return false;
    if (!hasStages(scenario)) return rule.receivers.includes(name);
    return isConfiguredAtEnd(scenario, name) && wasFiring(evidence, name, incidentId);
  });
}

/** Whether a receiver was sent that an incident fires. */
export function wasFiring({ attempts }: Evidence, receiver: string, incidentId: string): boolean {
  return attempts.some(
    ({ message, ...attempt }) =>
      attempt.receiver === receiver &&
      message.type === "incident.firing" &&
      message.data.incidents.some(({ id }) => id === incidentId),
  );
}
