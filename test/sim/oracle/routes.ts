import type { History, Life } from "../history.ts";
import type { Scenario, ScenarioRule } from "../scenario.ts";
import type { Stage } from "../stages.ts";
import { timesOf } from "./wall-clocks.ts";
import type { ToldIncident } from "./told.ts";

/** Whether a receiver is to hear of an incident that fires now, fires still, or does not: both where both can be. */
export interface Route {
  /** It is certain that the incident fired, or went on, while this receiver was named for it. */
  readonly must: boolean;
  readonly may: boolean;
}

type Known = Pick<ToldIncident, "rule" | "about" | "startedUtcMs" | "heardMs" | "resolved">;

/**
 * A receiver is told of an incident that fires while it is named for it, or that was told already
 * when it was named for it.
 */
export function routeOf(
  scenario: Scenario,
  history: History,
  receiver: string,
  incident: ToldIncident,
): Route {
  if (!hasStages(scenario)) {
    const isNamed = isNamedIn(scenario.stages[0], receiver, incident);
    return { must: isNamed, may: isNamed };
  }
  const isNamed = ({ stage }: Life): boolean => isNamedIn(stage, receiver, incident);
  const fired = history.lives.filter((life) => overlaps(history, life, incident, "fired"));
  const known = history.lives.filter((life) => overlaps(history, life, incident, "known"));
  return {
    must:
      (fired.length > 0 && fired.every(isNamed)) ||
      known.some((life) => isNamed(life) && wasSeen(scenario, history, life, incident)),
    may: known.some(isNamed),
  };
}

function isNamedIn(stage: Stage, receiver: string, { rule, about }: Known): boolean {
  if (!stage.receivers.has(receiver)) return false;
  if (about !== null) return about !== receiver;
  return stage.routes.get(rule)?.includes(receiver) ?? false;
}

/** Whether a process can have been the one in which an incident fired, or in which it went on. */
function overlaps(
  history: History,
  { watchMs, startMs, endMs }: Life,
  { startedUtcMs, heardMs, resolved }: Known,
  when: "fired" | "known",
): boolean {
  if (watchMs === null) return false;
  const [earliestMs] = timesOf(history, startedUtcMs);
  const fromMs = earliestMs ?? 0;
  const overMs = resolved === null ? history.endMs : timesOf(history, resolved.utcMs).at(-1);
  const untilMs = when === "fired" ? heardMs : (overMs ?? history.endMs);
  return startMs <= untilMs && (endMs ?? Infinity) >= fromMs;
}

/** Whether a process that nothing happened to saw a server twice in an incident that was told before. */
function wasSeen(
  { rules }: Scenario,
  history: History,
  life: Life,
  { rule: name, target, server, heardMs, resolved }: ToldIncident,
): boolean {
  const rule = rules.find((each) => each.name === name);
  if (server === null || rule?.on !== "server" || history.wallClocks.length > 1) return false;
  if (life.ended?.how !== "stopped" || hasFaults(history, life)) return false;
  // Where nobody was told of its end, it goes on at most until the server was seen in another status.
  const left = history.sightings.find(
    (each) =>
      each.target === target &&
      each.atMs > heardMs &&
      each.shown.get(server)?.status !== rule.status,
  );
  const overMs = resolved === null ? left?.atMs : timesOf(history, resolved.utcMs)[0];
  const seen = history.sightings.filter(
    (each) =>
      each.life === life.number &&
      each.target === target &&
      each.atMs > heardMs &&
      each.atMs < (overMs ?? Infinity) &&
      each.shown.get(server)?.status === rule.status,
  );
  return seen.length >= 2 && life.rules.includes(rule);
}

function hasFaults({ storeFaults }: History, { number }: Life): boolean {
  return Array.from(storeFaults.values()).includes(number);
}

/** Whether the configuration changes what it says of receivers. */
export function hasStages({ stages }: Scenario): boolean {
  return stages.length > 1;
}

/** Whether it is configured when all is over: else what it is owed waits for it. */
export function isThereAtTheEnd({ stages }: Scenario, receiver: string): boolean {
  return stages.at(-1)?.receivers.has(receiver) ?? true;
}

/** Whether somebody has to hear of an incident's end, who heard that it fired. */
export function tellsEnd(
  scenario: Scenario,
  history: History,
  rule: Pick<ScenarioRule, "receivers">,
  incidentId: string,
): boolean {
  return scenario.receivers.some(
    ({ name, sendResolved }) =>
      sendResolved &&
      (hasStages(scenario)
        ? isThereAtTheEnd(scenario, name) && heardFire(history, name, incidentId)
        : rule.receivers.includes(name)),
  );
}

export function heardFire({ attempts }: History, receiver: string, incidentId: string): boolean {
  return attempts.some(
    (attempt) =>
      attempt.receiver === receiver &&
      attempt.message.type === "incident.firing" &&
      attempt.message.data.incidents.some(({ id }) => id === incidentId),
  );
}
