import { longestWaitMs, type ScenarioReceiver } from "../draw/receivers.ts";
import type { Attempt } from "../history.ts";
import { longestOutageMs } from "../scenario.ts";
import { hasFault, subjectOf, timesOf, violation } from "./evidence.ts";
import type { Evidence, MessageIncident, NotifiedIncident, Violation } from "./evidence.ts";
import { inhibitedUntilMs } from "./inhibition.ts";
import { isSelective } from "./recipients.ts";
import { hasStages, isConfiguredAtEnd, routeOf, wasFiring } from "./routes.ts";

/** Receivers are notified once and in order, with the same message under the same id, and only while they are configured. */
export function checkDeliveries(evidence: Evidence): readonly Violation[] {
  return evidence.scenario.receivers.flatMap((receiver) => {
    const attempts = evidence.attempts.filter((each) => each.receiver === receiver.name);
    return [
      ...checkConfigured(evidence, attempts),
      ...checkRepeats(evidence, attempts),
      ...checkOrder(attempts, lateSubjects(evidence, receiver)),
      ...evidence.incidents.flatMap((each) => checkNotified(evidence, receiver, attempts, each)),
      ...checkReceiverIncidents(evidence, receiver, attempts),
    ];
  });
}

function checkConfigured({ lives }: Evidence, attempts: readonly Attempt[]): readonly Violation[] {
  return attempts
    .filter(({ receiver, life }) => !lives[life - 1]?.stage.receivers.has(receiver))
    .map(({ receiver, webhookId, atMs }) =>
      violation(`${receiver} was sent ${webhookId} at ${atMs} ms, though it was not configured`),
    );
}

/** What is the same in each attempt: a later one may say how late it is. */
function timeless({ message }: Attempt): string {
  const { delayed_seconds: _, summary, ...data } = message.data;
  return JSON.stringify({ ...message, data, summary: summary.replace(/^Late by [0-9dhm]+: /, "") });
}

/** A message is sent again only while its sender cannot know that it was accepted. */
function checkRepeats(evidence: Evidence, attempts: readonly Attempt[]): readonly Violation[] {
  const found: Violation[] = [];
  const before = new Map<string, Attempt>();
  for (const attempt of attempts) {
    const { webhookId, receiver, body } = attempt;
    const earlier = before.get(webhookId);
    if (earlier && earlier.body !== body && timeless(earlier) !== timeless(attempt)) {
      found.push(violation(`${receiver} was sent two messages under ${webhookId}`, webhookId));
    }
    if (earlier?.answered && !mayNotKnow(evidence, earlier, attempt)) {
      const text = `${receiver} was sent ${webhookId} again after it had accepted it`;
      found.push(violation(text, webhookId.slice(0, 10)));
    }
    if (!earlier?.answered) before.set(webhookId, attempt);
  }
  return found;
}

function mayNotKnow(evidence: Evidence, { life, answered }: Attempt, later: Attempt): boolean {
  if (!answered || later.life === life) return false;
  const wasKilled = evidence.lives[life - 1]?.endMoment === answered.moment;
  return wasKilled || hasFault(evidence, life, answered.moment);
}

/** Notifications about a subject come in the order of what happened to it. */
function checkOrder(attempts: readonly Attempt[], late: ReadonlySet<string>): readonly Violation[] {
  const found: Violation[] = [];
  const fired = new Set<string>();
  const resolved = new Set<string>();
  const present = new Map<string, string>();
  /** The message with the next incident of the same subject, by incident. It may hold both. */
  const past = new Map<string, string>();
  for (const { message, taken, receiver, webhookId } of attempts) {
    const { type, data } = message;
    for (const incident of data.incidents) {
      const { id } = incident;
      const subject = subjectText(data.rule, incident);
      if (late.has(subject)) continue;
      const last = present.get(subject);
      if (last !== undefined && last !== id && !past.has(last)) past.set(last, webhookId);
      present.set(subject, id);
      const faults = [
        past.has(id) && past.get(id) !== webhookId && "an earlier incident came after a later one",
        type === "incident.resolved" && !fired.has(id) && "a resolve overtook its fire",
        type === "incident.reminder" && !fired.has(id) && "a reminder overtook its fire",
        type !== "incident.resolved" && resolved.has(id) && `${type} came after the resolve`,
      ].filter((fault) => fault !== false);
      for (const fault of faults) {
        found.push(violation(`${receiver}: ${fault} (${id} of ${subject})`, id, subject));
      }
      if (type === "incident.resolved") resolved.add(id);
      if (type === "incident.firing" && taken) fired.add(id);
    }
  }
  return found;
}

function subjectText(rule: string, incident: MessageIncident): string {
  return [rule, ...Object.values(subjectOf(incident))].join(" ");
}

/** The subjects of dead-lettered messages: their order is not kept. */
function lateSubjects(
  evidence: Evidence,
  { name, giveUpAfterMs }: ScenarioReceiver,
): ReadonlySet<string> {
  const mayBeDead = giveUpAfterMs < longestOutageMs;
  const subjects = evidence.attempts.flatMap((attempt) => {
    const isDead = attempt.receiver === name && (attempt.refused !== null || mayBeDead);
    const { rule, incidents } = attempt.message.data;
    return isDead ? incidents.map((incident) => subjectText(rule, incident)) : [];
  });
  return new Set(subjects);
}

/** A receiver gets each message about an incident once. */
function checkNotified(
  evidence: Evidence,
  { name, sendResolved, sendAcknowledged }: ScenarioReceiver,
  attempts: readonly Attempt[],
  incident: NotifiedIncident,
): readonly Violation[] {
  const { scenario } = evidence;
  const { id, resolved } = incident;
  const route = routeOf(evidence, name, incident);
  const count = (type: string): number => messagesOf(attempts, id, type).size;
  const must = route.must && inhibitedUntilMs(evidence, id, name) !== null;
  const fires = Math.max(must ? 1 : 0, Math.min(count("incident.firing"), route.may ? 1 : 0));
  const resolves = fires === 1 && resolved && sendResolved ? 1 : 0;
  const found: string[] = [];
  for (const [type, expected] of [
    ["incident.firing", fires],
    ["incident.resolved", resolves],
  ] as const) {
    const isExcused =
      count(type) < expected && (!isConfiguredAtEnd(scenario, name) || isLate(evidence, id, type));
    if (count(type) === expected || isExcused) continue;
    found.push(`${name} was sent ${type} of ${id} ${count(type)} times instead of ${expected}`);
  }
  const own = evidence.acknowledgements.filter(({ incidentId }) => incidentId === id);
  const isPossible = route.may && sendAcknowledged && own.length > 0;
  // A receiver that is not notified of it, as another incident is, is not notified of this either.
  const isNotified = inhibitedUntilMs(evidence, id, name) === 0;
  const isPlain = !hasStages(scenario) && !isSelective(scenario, name);
  const isSure = isPossible && isNotified && isPlain && own.some(({ sure }) => sure);
  const acknowledged = count("incident.acknowledged");
  // One that lasts longer replaces one that ends.
  const most = own.some(({ endsUtcMs }) => endsUtcMs !== null) ? own.length : 1;
  if (acknowledged > (isPossible ? most : 0) || acknowledged < (isSure ? 1 : 0)) {
    found.push(`${name} was sent ${acknowledged} times that ${id} was acknowledged`);
  }
  const rule = scenario.rules.find((each) => each.name === incident.rule);
  const mayRemind = rule && (rule.remindEveryMs !== null || ("flap" in rule && rule.flap !== null));
  if (count("incident.reminder") > 0 && !mayRemind) {
    found.push(`${name} was reminded of ${id} by no rule`);
  }
  return found.map((text) => violation(text, id));
}

/** Whether it was first sent so late that it may still wait for others of its group at the end. */
function isLate({ attempts, endMs }: Evidence, incidentId: string, type: string): boolean {
  const first = attempts.find(
    ({ message }) =>
      message.type === type && message.data.incidents.some(({ id }) => id === incidentId),
  );
  return first !== undefined && first.atMs > endMs - longestWaitMs;
}

/** The ids of the accepted messages of a type about an incident. */
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

/** An incident of a receiver that refuses now and then is notified once in this time at most. */
const quietMs = 5 * 60_000;

/** The others are notified of a receiver whose messages are dead-lettered, and of no other. */
function checkReceiverIncidents(
  evidence: Evidence,
  { name, giveUpAfterMs }: ScenarioReceiver,
  attempts: readonly Attempt[],
): readonly Violation[] {
  const own = evidence.incidents.filter(({ receiver }) => receiver === name);
  const isDead = ({ answered, refused }: Attempt): boolean =>
    refused !== null || (answered === null && giveUpAfterMs < longestOutageMs);
  const missing = attempts.filter((attempt) => {
    const { receivers } = evidence.lives[attempt.life - 1]?.stage ?? {};
    return (
      (receivers?.size ?? 0) > 1 &&
      isRefusalNoted(evidence, attempt) &&
      !own.some((incident) => isOf(evidence, incident, attempt))
    );
  });
  return [
    ...missing.map(({ atMs, webhookId }) =>
      violation(`nobody was notified that ${name} refused ${webhookId} at ${atMs} ms`, name),
    ),
    ...own.flatMap((incident) => {
      const isInvented = !attempts.some(
        (attempt) => attempt.atMs <= incident.notifiedMs && isDead(attempt),
      );
      return checkReceiverIncident(evidence, incident, isInvented);
    }),
  ];
}

/** @param isInvented whether its receiver accepted everything before */
function checkReceiverIncident(
  evidence: Evidence,
  { id, receiver, resolved }: NotifiedIncident,
  isInvented: boolean,
): readonly Violation[] {
  const { scenario } = evidence;
  const mayGoOn = !scenario.receivers.some(
    ({ name, sendResolved }) =>
      name !== receiver &&
      sendResolved &&
      isConfiguredAtEnd(scenario, name) &&
      wasFiring(evidence, name, id),
  );
  const wentOn = `${id} went on, though ${receiver} accepted what was replayed`;
  return [
    ...(isInvented ? [violation(`${id}: ${receiver} has refused nothing`, id)] : []),
    ...(resolved || mayGoOn ? [] : [violation(wentOn, id)]),
  ];
}

/** Whether the process has certainly stored that it was refused. */
function isRefusalNoted(evidence: Evidence, { refused, life }: Attempt): boolean {
  if (!refused) return false;
  const { endMoment, lastPollMs } = evidence.lives[life - 1] ?? {};
  const dueMs = evidence.dueMs[refused.moment] ?? Infinity;
  return (
    dueMs < (lastPollMs ?? Infinity) &&
    endMoment !== refused.moment &&
    !hasFault(evidence, life, refused.moment)
  );
}

/** Whether an incident is about a refusal, or why no other incident is. */
function isOf(
  evidence: Evidence,
  { startedUtcMs, resolved }: NotifiedIncident,
  { refused }: Attempt,
): boolean {
  if (!refused) return false;
  if (Math.abs(refused.utcMs - startedUtcMs) < quietMs) return true;
  // In the world's time: where the wall clock was set back, an incident can end before it began.
  const atMs = evidence.dueMs[refused.moment] ?? 0;
  const endsMs = resolved ? timesOf(evidence, resolved.utcMs) : [Infinity];
  return (
    timesOf(evidence, startedUtcMs).some((ms) => ms <= atMs) && endsMs.some((ms) => ms >= atMs)
  );
}
