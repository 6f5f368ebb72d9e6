import type { Attempt, History } from "../history.ts";
import { longestOutageMs, longestWaitMs } from "../scenario.ts";
import type { Scenario, ScenarioRule } from "../scenario.ts";
import { lostMessages } from "./damages.ts";
import { hasStages, isThereAtTheEnd, routeOf } from "./routes.ts";
import { poolOf, probeOf, subjectOf } from "./told.ts";
import type { ToldIncident } from "./told.ts";
import { violation } from "./violation.ts";
import type { Violation } from "./violation.ts";

/** That receivers are told once and in order, and the same under the same id. */
export function checkDeliveries(
  scenario: Scenario,
  history: History,
  told: readonly ToldIncident[],
): readonly Violation[] {
  return scenario.receivers.flatMap(({ name }) => {
    const attempts = history.attempts.filter(({ receiver }) => receiver === name);
    return [
      ...checkRepeats(history, attempts),
      ...checkOrder(
        attempts,
        new Set([...givenUp(scenario, attempts), ...lostSubjects(history, name)]),
      ),
      ...told.flatMap((incident) => checkTelling(scenario, history, { name, attempts }, incident)),
    ];
  });
}

/** That nothing is sent to a receiver that is not configured. */
export function checkAbsent({ attempts, lives }: History): readonly Violation[] {
  return attempts.flatMap(({ receiver, life, webhookId, atMs }) =>
    lives[life - 1]?.stage.receivers.has(receiver)
      ? []
      : [
          violation(
            `${receiver} was sent ${webhookId} at ${atMs} ms, though it was not configured`,
          ),
        ],
  );
}

/** A later attempt may differ in how late it is, and in nothing else. */
function saysTheSame(earlier: Attempt, later: Attempt): boolean {
  return earlier.body === later.body || timeless(earlier) === timeless(later);
}

function timeless({ message }: Attempt): string {
  const { delayed_seconds: _, summary, ...data } = message.data;
  return JSON.stringify({ ...message, data, summary: summary.replace(/^Late by [0-9dhm]+: /, "") });
}

/** A message is sent again only while its sender cannot know that it was taken. */
function checkRepeats(history: History, attempts: readonly Attempt[]): readonly Violation[] {
  const found: Violation[] = [];
  const before = new Map<string, Attempt>();
  for (const attempt of attempts) {
    const { webhookId, receiver } = attempt;
    const earlier = before.get(webhookId);
    if (earlier && !saysTheSame(earlier, attempt)) {
      found.push(violation(`${receiver} was told two things under ${webhookId}`, webhookId));
    }
    if (earlier?.answered && !mayNotKnow(history, earlier, attempt)) {
      const text = `${receiver} was sent ${webhookId} again after it had said yes`;
      found.push(violation(text, webhookId.slice(0, 10)));
    }
    if (!earlier?.answered) before.set(webhookId, attempt);
  }
  return found;
}

function mayNotKnow(history: History, earlier: Attempt, later: Attempt): boolean {
  const { life, answered } = earlier;
  if (!answered || later.life === life) return false;
  if (history.lives[life - 1]?.endMoment === answered.moment) return true;
  return Array.from(history.storeFaults).some(
    ([moment, hit]) => hit === life && moment >= answered.moment,
  );
}

/** What happens to a subject is told in the order in which it happened. */
function checkOrder(attempts: readonly Attempt[], late: ReadonlySet<string>): readonly Violation[] {
  const found: Violation[] = [];
  const fired = new Set<string>();
  const resolved = new Set<string>();
  const present = new Map<string, string>();
  const past = new Set<string>();
  for (const { message, taken, receiver } of attempts) {
    const { type, data } = message;
    for (const incident of data.incidents) {
      const { id } = incident;
      const subject = subjectText(data.rule, incident);
      if (late.has(subject)) continue;
      const tell = (what: string): void =>
        void found.push(violation(`${receiver}: ${what} (${id} of ${subject})`, id, subject));
      const last = present.get(subject);
      if (last !== undefined && last !== id) past.add(last);
      if (past.has(id)) tell("an earlier incident was told after a later one");
      present.set(subject, id);
      if (type === "incident.resolved") {
        if (!fired.has(id)) tell("a resolve overtook its fire");
        resolved.add(id);
      } else {
        if (resolved.has(id)) tell(`${type} came after the resolve`);
        if (type === "incident.reminder" && !fired.has(id)) tell("a reminder overtook its fire");
        if (type === "incident.firing" && taken) fired.add(id);
      }
    }
  }
  return found;
}

/** Of what something was given up: what is sent again later is told when it is. */
function givenUp(scenario: Scenario, attempts: readonly Attempt[]): ReadonlySet<string> {
  const subjects = attempts.flatMap(({ receiver, refused, message: { data } }) => {
    const settings = scenario.receivers.find(({ name }) => name === receiver);
    const isImpatient = (settings?.giveUpAfterMs ?? 0) < longestOutageMs;
    return refused || isImpatient ? data.incidents.map((each) => subjectText(data.rule, each)) : [];
  });
  return new Set(subjects);
}

/** Of what a message to a receiver cannot be read. */
function lostSubjects(history: History, receiver: string): readonly string[] {
  const lost = new Set(lostMessages(history, receiver).flatMap(({ incidents }) => incidents));
  return history.attempts.flatMap(({ message: { data } }) =>
    data.incidents.filter(({ id }) => lost.has(id)).map((each) => subjectText(data.rule, each)),
  );
}

function isLost(history: History, receiver: string, incidentId: string, type: string): boolean {
  return lostMessages(history, receiver).some(
    (each) => each.type === type && each.incidents.includes(incidentId),
  );
}

function subjectText(rule: string, incident: Attempt["message"]["data"]["incidents"][number]) {
  const { target, server } = subjectOf(incident);
  return `${rule} ${target} ${server} ${poolOf(incident) ?? probeOf(incident) ?? ""} ${incident.receiver ?? ""}`.trim();
}

function checkTelling(
  scenario: Scenario,
  history: History,
  { name: receiver, attempts }: { readonly name: string; readonly attempts: readonly Attempt[] },
  incident: ToldIncident,
): readonly Violation[] {
  const { id, resolved } = incident;
  const rule = scenario.rules.find(({ name }) => name === incident.rule);
  const settings = scenario.receivers.find(({ name }) => name === receiver);
  const isThere = isThereAtTheEnd(scenario, receiver);
  const route = routeOf(scenario, history, receiver, incident);
  const messages = (type: string): number => messagesOf(attempts, id, type).size;
  const acknowledged = history.acknowledgements.filter((each) => each.incidentId === id);
  const fires = Math.max(
    route.must ? 1 : 0,
    Math.min(messages("incident.firing"), route.may ? 1 : 0),
  );
  const expected = {
    "incident.firing": fires,
    "incident.resolved": fires === 1 && resolved && settings?.sendResolved ? 1 : 0,
  };
  const found: Violation[] = [];
  for (const [type, count] of Object.entries(expected)) {
    if (messages(type) === count) continue;
    if (messages(type) < count && !isThere) continue;
    if (messages(type) < count && isLost(history, receiver, id, type)) continue;
    // A group that began to wait just before the end waits still.
    if (messages(type) < count && isLate(history, id, type)) continue;
    const what = `${receiver} was told ${type} of ${id} ${messages(type)} times`;
    found.push(violation(`${what} instead of ${count}`, id));
  }
  const heard = messages("incident.acknowledged");
  const isHeard = route.may && settings?.sendAcknowledged === true && acknowledged.length > 0;
  const isSure = isHeard && !hasStages(scenario) && acknowledged.some(({ sure }) => sure);
  if (heard > (isHeard ? 1 : 0) || heard < (isSure ? 1 : 0)) {
    const what = `${receiver} was told ${heard} times that somebody acknowledged ${id}`;
    found.push(violation(what, id));
  }
  if (messages("incident.reminder") > 0 && !mayRemind(rule)) {
    found.push(violation(`${receiver} was reminded of ${id} for no rule`, id));
  }
  return found;
}

/** Whether somebody first heard of it so late that others may not have by the end. */
function isLate({ attempts, endMs }: History, incidentId: string, type: string): boolean {
  const first = attempts.find(
    ({ message }) =>
      message.type === type && message.data.incidents.some(({ id }) => id === incidentId),
  );
  return first !== undefined && first.atMs > endMs - longestWaitMs;
}

function mayRemind(rule: ScenarioRule | undefined): boolean {
  if (!rule) return false;
  return rule.remindEveryMs !== null || ("flap" in rule && rule.flap !== null);
}

/** The ids of the messages that told something of an incident, and were taken. */
export function messagesOf(
  attempts: readonly Attempt[],
  incidentId: string,
  type: string,
): ReadonlySet<string> {
  return new Set(
    attempts
      .filter(({ taken, message }) => taken && message.type === type)
      .filter(({ message }) => message.data.incidents.some(({ id }) => id === incidentId))
      .map(({ webhookId }) => webhookId),
  );
}
