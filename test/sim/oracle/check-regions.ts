import type { RegionRule } from "../draw/rules.ts";
import type { StoredIncident } from "../history.ts";
import { hasFault, lastNotifiableMs, stalledMs, violation } from "./evidence.ts";
import type { Evidence, Violation } from "./evidence.ts";
import { longestPollDistanceMs } from "./due-polls.ts";
import { judgedWithinMs } from "./inhibition.ts";
import { alikeIn, begins, inForce, type RegionState } from "./region-states.ts";
import { hasStages } from "./routes.ts";

/** What is read from the store is committed this much later at most. */
const commitMs = 500;

/** A region is notified as failing when several of its targets fail alike, and not otherwise. */
export function checkRegion(
  evidence: Evidence,
  rule: RegionRule,
  region: string,
  states: readonly RegionState[],
): readonly Violation[] {
  const incidents = Array.from(evidence.storedIncidents.values()).filter(
    ([first]) => first?.rule === rule.name && first.region === region,
  );
  return [
    ...incidents.flatMap((versions) => incidentFaults(evidence, rule, versions, states)),
    ...missingIncidents(evidence, rule, incidents, states),
    ...tooOften(evidence, rule, region),
  ].map((what) => violation(`${rule.name} ${region}: ${what}`, `${region}/`));
}

function incidentFaults(
  evidence: Evidence,
  rule: RegionRule,
  versions: readonly StoredIncident[],
  states: readonly RegionState[],
): readonly string[] {
  const { scenario, incidents } = evidence;
  const [first] = versions;
  const end = versions.at(-1);
  if (!first || !end) return [];
  const { id, startedUtcMs } = first;
  const judgedBy = ({ atMs }: StoredIncident): readonly RegionState[] =>
    inForce(states, atMs - commitMs - stalledMs(evidence, atMs - 3_000, atMs), atMs);
  const isInvented = !judgedBy(first).some((each) =>
    begins(rule, each, scenario, first.utcMs, false),
  );
  const isMisdated =
    evidence.wallClocks.length === 1 &&
    !judgedBy(first).some(({ polls }) =>
      polls.some(({ sinceUtcMs }) => Math.abs(sinceUtcMs - startedUtcMs) <= judgedWithinMs),
    );
  const isCut = end.phase === "over" && judgedBy(end).every((each) => alikeIn(each, true).size > 0);
  const isUnnotified =
    first.atMs < lastNotifiableMs(evidence) &&
    first.receivers.length > 0 &&
    !incidents.some((each) => each.id === id);
  const endMs = end.phase === "over" ? end.atMs : evidence.endMs;
  return [
    ...(isInvented ? [`${id} fired though its targets did not fail alike`] : []),
    ...(isMisdated ? [`${id} did not start with the first failure of a target`] : []),
    ...(isCut ? [`${id} was resolved though its targets failed alike`] : []),
    ...(isUnnotified ? [`nobody was notified of ${id}`] : []),
    ...(first.isNotified ? [] : [`${id} fired and was not to be notified`]),
    ...(isOverlong(evidence, rule, first.atMs, endMs, states) ? [`${id} went on too long`] : []),
  ];
}

/** Whether no targets failed alike for longer than an incident may go on, before its end. */
function isOverlong(
  evidence: Evidence,
  { keepFiringMs, flap }: RegionRule,
  fromMs: number,
  toMs: number,
  states: readonly RegionState[],
): boolean {
  const roundMs = longestPollDistanceMs(evidence.scenario);
  const judgedMs = 2 * roundMs + judgedWithinMs;
  const failed = states.findLast(({ atMs }) => atMs <= toMs - judgedMs);
  const lastAlike = states.findLastIndex(
    (each) => each.atMs <= toMs && alikeIn(each, false).size > 0,
  );
  const sinceMs = Math.max(fromMs, states[lastAlike + 1]?.atMs ?? Infinity);
  const longestMs = keepFiringMs + (flap?.withinMs ?? 0) + judgedMs;
  const isWatched = evidence.lives.some(
    ({ number, watchMs, lastPollMs }) =>
      (watchMs ?? Infinity) <= toMs - judgedMs &&
      (lastPollMs ?? Infinity) >= toMs &&
      number === failed?.life &&
      !hasFault(evidence, number, failed.moment, toMs),
  );
  return toMs - sinceMs > longestMs && isWatched && evidence.wallClocks.length === 1;
}

/** Where several targets failed alike until the region was certainly judged, and nothing fired. */
function missingIncidents(
  evidence: Evidence,
  rule: RegionRule,
  incidents: readonly (readonly StoredIncident[])[],
  states: readonly RegionState[],
): readonly string[] {
  const missing = states.filter((state) => {
    const { atMs, life, moment, utcMs } = state;
    const untilMs = atMs + judgedWithinMs;
    const { lastPollMs = 0, watchMs } = evidence.lives[life - 1] ?? {};
    const isJudged =
      watchMs !== null &&
      (lastPollMs ?? Infinity) > untilMs &&
      !hasFault(evidence, life, moment, untilMs) &&
      stalledMs(evidence, atMs, untilMs) === 0;
    return (
      isJudged &&
      inForce(states, atMs, untilMs).every((each) =>
        begins(rule, each, evidence.scenario, utcMs, true),
      ) &&
      !incidents.some((own) => own.findLast((each) => each.atMs <= untilMs)?.phase === "firing")
    );
  });
  return missing.slice(0, 3).map(({ atMs }) => `did not fire for what failed at ${atMs} ms`);
}

/** With a limit for flapping, what is notified in its time is bounded, apart from reminders. */
function tooOften(evidence: Evidence, rule: RegionRule, region: string): readonly string[] {
  const { flap, remindEveryMs } = rule;
  const { scenario, wallClocks, attempts } = evidence;
  if (flap === null || remindEveryMs !== null || wallClocks.length > 1) return [];
  if (hasStages(scenario)) return [];
  return scenario.receivers.flatMap(({ name }) => {
    const messages = new Map(
      attempts
        .filter(({ receiver, message }) => receiver === name && message.data.rule === rule.name)
        .filter(({ message }) => message.data.incidents.some((each) => each.region === region))
        .map(({ webhookId, message }) => [webhookId, message]),
    );
    const times = Array.from(messages.values())
      .filter(({ type: what }) => what !== "incident.acknowledged")
      .map(({ timestamp }) => Date.parse(timestamp))
      .toSorted((one, other) => one - other);
    const most = 2 * flap.changes + 1;
    const isOften = times.some((ms, at) => (times[at + most] ?? Infinity) - ms < flap.withinMs);
    return isOften ? [`${name} was notified more than ${most} times in ${flap.withinMs} ms`] : [];
  });
}
