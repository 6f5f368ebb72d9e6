import type { ScenarioReceiver } from "../draw/receivers.ts";
import { localTime, teamOf, type Hours } from "../draw/routing.ts";
import type { ScenarioRule } from "../draw/rules.ts";
import type { StoredIncident } from "../history.ts";
import type { Scenario } from "../scenario.ts";
import type { Evidence } from "./evidence.ts";
import type { Observation } from "./observations.ts";
import { acknowledgedAt } from "./people.ts";
import type { JudgedPoll } from "./target-polls.ts";

/** What the `match` of a receiver can name of an incident; null: its subject has none. */
interface Matched {
  readonly rule: string;
  readonly region: string | null;
  readonly key: string | null;
  readonly serverName: string | null;
}

/** @param server by sandbox and server id; a sandbox by its id; null: neither */
export function matchedOf(
  { name: rule, on }: ScenarioRule,
  target: string,
  server: string | null,
  { shown }: Pick<JudgedPoll, "shown">,
): Matched {
  const [region = null, key = null] = target.split("/");
  const serverName = on === "server" ? (shown?.get(server ?? "")?.name ?? null) : null;
  return { rule, region, key: on === "region" ? null : key, serverName };
}

function receiverOf({ receivers }: Scenario, name: string): ScenarioReceiver | undefined {
  return receivers.find((each) => each.name === name);
}

/** Whether a receiver is notified of some incidents only, at some hours, or of what nobody acknowledged. */
export function isSelective(scenario: Scenario, name: string): boolean {
  const { route, hours } = receiverOf(scenario, name) ?? {};
  const isStep = scenario.rules.some(({ escalation = [] }) =>
    escalation.some(({ receivers }) => receivers.includes(name)),
  );
  return Boolean(route) || Boolean(hours) || isStep;
}

/** Whether the `match` of a receiver includes an incident. What its subject cannot have excludes nothing. */
export function isRouted(scenario: Scenario, name: string, about: Matched): boolean {
  const { route } = receiverOf(scenario, name) ?? {};
  if (!route) return true;
  const { rules, regions, team, serverPrefix } = route;
  const isPlaced = scenario.targets.some(
    ({ region, key }) =>
      (about.region === null || about.region === region) &&
      (about.key === null || about.key === key) &&
      (regions?.includes(region) ?? true) &&
      (team === undefined || team === teamOf(key)),
  );
  const isNamed = rules?.some((rule) => about.rule.startsWith(rule)) ?? true;
  return isPlaced && isNamed && (about.serverName?.startsWith(serverPrefix ?? "") ?? true);
}

/** Whether a receiver is notified at a moment, by its hours: both where both are possible. */
export function openAt(
  scenario: Scenario,
  name: string,
  { utcMs, fromMs, toMs }: Pick<Observation, "utcMs" | "fromMs" | "toMs">,
): readonly boolean[] {
  const { hours } = receiverOf(scenario, name) ?? {};
  if (!hours) return [true];
  const answers = [isOpen(hours, utcMs), isOpen(hours, utcMs + toMs - fromMs)];
  return [...new Set(answers)];
}

function isOpen({ timeZone, firstDay, lastDay, fromMinute, toMinute }: Hours, utcMs: number) {
  const { day, minute } = localTime(timeZone, utcMs);
  const isOn = (each: number): boolean => (each - firstDay + 7) % 7 <= (lastDay - firstDay + 7) % 7;
  if (fromMinute < toMinute) return isOn(day) && minute >= fromMinute && minute < toMinute;
  // It begins on one day and ends on the next.
  return (isOn(day) && minute >= fromMinute) || (isOn((day + 6) % 7) && minute < toMinute);
}

/** Those whom a rule names in a process, and who are notified at once or when their hours begin. */
export function informedOf(
  { scenario, lives }: Evidence,
  { name: rule, receivers }: ScenarioRule,
  about: Matched,
  life: number,
): readonly string[] {
  const { pagerduty } = scenario;
  const { stage } = lives[life - 1] ?? {};
  const named = stage?.routes.get(rule) ?? receivers;
  const extras = pagerduty?.rules.includes(rule) ? [pagerduty.name] : [];
  return [...named.filter((each) => stage?.receivers.has(each) ?? true), ...extras].filter((each) =>
    isRouted(scenario, each, about),
  );
}

interface Followed {
  readonly target: string;
  readonly server: string | null;
  readonly versions: readonly StoredIncident[];
  /** As it was after the poll before, and after this one. */
  readonly before: StoredIncident | undefined;
  readonly present: StoredIncident;
  readonly polls: readonly JudgedPoll[];
}

/** Who must have been notified of a firing incident by a poll at which its condition holds, and who must not be by then. */
export function dueOf(
  evidence: Evidence,
  rule: ScenarioRule,
  incident: Followed,
  poll: JudgedPoll,
) {
  const { scenario } = evidence;
  const { target, server } = incident;
  const about = matchedOf(rule, target, server, poll);
  const informed = informedOf(evidence, rule, about, poll.life);
  const stepOf = (name: string) => rule.escalation?.find((each) => each.receivers.includes(name));
  const isAcknowledged = acknowledgedBy(evidence, incident.present.id, poll);
  const fired = firedSince(incident, poll);

  /** Why a receiver is not notified: certainly, and possibly. */
  const reasons = (name: string, isSure: boolean): string | null => {
    if (!isRouted(scenario, name, about)) return "its match excludes that";
    const open = openAt(scenario, name, poll);
    if (isSure ? !open.includes(true) : open.includes(false)) return "it is outside its hours";
    const step = stepOf(name);
    if (!step) return null;
    const firedMs = isSure ? fired.mostMs : fired.leastMs;
    if (firedMs < step.afterMs) return "its step was not due";
    if (isSure ? !isAcknowledged.includes(false) : isAcknowledged.includes(true)) {
      return "it was acknowledged";
    }
    const flapping = [incident.before, incident.present].map((each) => each?.isFlapping ?? false);
    return (isSure ? flapping.every(Boolean) : flapping.includes(true)) ? "it flaps" : null;
  };
  const escalated = (rule.escalation ?? []).flatMap(({ receivers }) => receivers);
  return {
    must: [...informed, ...escalated].filter((name) => reasons(name, false) === null),
    isStep: (name: string): boolean => !informed.includes(name) && stepOf(name) !== undefined,
    whyNot: (name: string): string | null =>
      isSelective(scenario, name) ? reasons(name, true) : null,
  };
}

/** For how long an incident has fired at a poll, by the wall clock. */
function firedSince({ versions, polls }: Followed, { utcMs, fromMs, toMs }: JudgedPoll) {
  const first = versions.find(({ isNotified }) => isNotified);
  const at = polls.find((each) => each.toMs >= (first?.atMs ?? Infinity));
  if (!at) return { leastMs: -Infinity, mostMs: Infinity };
  return {
    leastMs: utcMs - (at.utcMs + at.toMs - at.fromMs),
    mostMs: utcMs + toMs - fromMs - at.utcMs,
  };
}

/** What is acknowledged while a poll is decided may count for it. */
function acknowledgedBy(
  evidence: Evidence,
  incidentId: string,
  poll: JudgedPoll,
): readonly boolean[] {
  const isMeanwhile = evidence.acknowledgements.some(
    (each) =>
      each.incidentId === incidentId &&
      each.moment >= poll.moment &&
      each.moment <= poll.stored.moment,
  );
  return isMeanwhile ? [false, true] : acknowledgedAt(evidence, incidentId, poll);
}
