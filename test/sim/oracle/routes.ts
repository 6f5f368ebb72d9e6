import { wasInhibited } from "./inhibition.ts";
import type { Stage } from "../draw/receivers.ts";
import type { Life } from "../history.ts";
import type { Scenario } from "../scenario.ts";
import { lastNotifiableMs, receiverRule, timesOf } from "./evidence.ts";
import type { Evidence, NotifiedIncident } from "./evidence.ts";
import { isRouted as isRoutedTo, isSelective } from "./recipients.ts";

/**
 * Whether a receiver must be notified of an incident, and whether it may be. It is if the incident fires while the
 * rule names the receiver, or was notified before the rule named it and goes on. Whom an incident is routed or escalated to is
 * judged where it is stored (`recipients.ts`): here, that they are sent what is stored.
 */
export function routeOf(
  evidence: Evidence,
  receiver: string,
  incident: NotifiedIncident,
): { readonly must: boolean; readonly may: boolean } {
  const { scenario, lives } = evidence;
  if (isSelective(scenario, receiver)) return selectiveRouteOf(evidence, receiver, incident);
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
  return {
    must: fired.length > 0 && fired.every(isNamed),
    may: livesUntil(overMs ?? evidence.endMs).some(isNamed),
  };
}

function selectiveRouteOf(evidence: Evidence, receiver: string, incident: NotifiedIncident) {
  const { scenario, storedIncidents } = evidence;
  const { rule, region, key } = incident;
  if (rule === receiverRule) {
    const about = { rule, region, key, serverName: null };
    const isRouted = incident.receiver !== receiver && isRoutedTo(scenario, receiver, about);
    return { must: false, may: isRouted };
  }
  const versions = storedIncidents.get(incident.id) ?? [];
  const since = versions.find(({ receivers }) => receivers.includes(receiver));
  const must = since !== undefined && since.atMs < lastNotifiableMs(evidence);
  return { must, may: since !== undefined };
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
    const isInEveryStage = !hasStages(scenario);
    const isPlain = isInEveryStage && !isSelective(scenario, name);
    if (isPlain && !wasInhibited(evidence, incidentId)) return rule.receivers.includes(name);
    const isConfigured = isInEveryStage || isConfiguredAtEnd(scenario, name);
    return isConfigured && wasFiring(evidence, name, incidentId);
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
