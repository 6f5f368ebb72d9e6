import type { RegionRule } from "../draw/rules.ts";
import type { Moment, StoredIncident } from "../history.ts";
import { hasFault, lastNotifiableMs, stalledMs, violation } from "./evidence.ts";
import type { Evidence, Violation } from "./evidence.ts";
import { longestPollDistanceMs } from "./due-polls.ts";
import { judgedWithinMs } from "./inhibition.ts";
import { silencedAt } from "./people.ts";
import { noTime } from "./span.ts";
import { fails, inForce, type RegionState } from "./region-states.ts";
import { hasStages } from "./routes.ts";

/** What is read from the store is committed this much later at most. */
const commitMs = 500;

/** A region is notified as failing when at least half of its targets fail, and not otherwise. */
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
    ...incidents.flatMap((versions) => incidentFaults(evidence, rule, versions, incidents, states)),
    ...missingIncidents(evidence, rule, incidents, states),
    ...tooOften(evidence, rule, region),
  ].map((what) => violation(`${rule.name} ${region}: ${what}`, `${region}/`));
}

function incidentFaults(
  evidence: Evidence,
  rule: RegionRule,
  versions: readonly StoredIncident[],
  incidentsOfRegion: readonly (readonly StoredIncident[])[],
  states: readonly RegionState[],
): readonly string[] {
  const { incidents } = evidence;
  const [first] = versions;
  const end = versions.at(-1);
  if (!first || !end) return [];
  const { id, startedUtcMs } = first;
  const judgedBy = ({ atMs }: StoredIncident): readonly RegionState[] =>
    inForce(states, atMs - commitMs - stalledMs(evidence, atMs - 3_000, atMs), atMs);
  // A silence ends an incident, and another one goes on.
  const continues = incidentsOfRegion.some((other) => endsAt(other, first.atMs));
  const isInvented = !continues && !judgedBy(first).some((each) => fails(rule, each, false));
  const isMisdated =
    evidence.wallClocks.length === 1 &&
    !continues &&
    !judgedBy(first).some(({ polls }) =>
      polls.some(({ sinceUtcMs }) => Math.abs(sinceUtcMs - startedUtcMs) <= judgedWithinMs),
    );
  const isContinued = incidentsOfRegion.some(([other]) => other?.atMs === end.atMs);
  const isCut =
    end.phase === "over" &&
    judgedBy(end).every((each) => fails(rule, each, true)) &&
    !(isContinued && silencedFor(evidence, first, end, commitMs).includes(true));
  const isUnnotified =
    first.atMs < lastNotifiableMs(evidence) &&
    first.receivers.length > 0 &&
    !incidents.some((each) => each.id === id);
  const endMs = end.phase === "over" ? end.atMs : evidence.endMs;
  return [
    ...(isInvented ? [`${id} fired though less than half of its targets failed`] : []),
    ...(isMisdated ? [`${id} did not start with a failure of a target`] : []),
    ...(isCut ? [`${id} was resolved though half of its targets failed`] : []),
    ...(isUnnotified ? [`nobody was notified of ${id}`] : []),
    ...silenceFaults(evidence, rule, versions, states),
    ...(isOverlong(evidence, rule, first.atMs, endMs, states) ? [`${id} went on too long`] : []),
  ];
}

/** Whether less than half of the targets failed for longer than an incident may go on, before its end. */
function isOverlong(
  evidence: Evidence,
  rule: RegionRule,
  fromMs: number,
  toMs: number,
  states: readonly RegionState[],
): boolean {
  const { keepFiringMs, flap } = rule;
  const roundMs = longestPollDistanceMs(evidence.scenario);
  const judgedMs = 2 * roundMs + judgedWithinMs;
  const failed = states.findLast(({ atMs }) => atMs <= toMs - judgedMs);
  const lastFailed = states.findLastIndex((each) => each.atMs <= toMs && fails(rule, each, false));
  const sinceMs = Math.max(fromMs, states[lastFailed + 1]?.atMs ?? Infinity);
  const longestMs = keepFiringMs + (flap?.withinMs ?? 0) + judgedMs;
  const isWatched = failed !== undefined && wasWatched(evidence, failed, toMs - judgedMs, toMs);
  return toMs - sinceMs > longestMs && isWatched && evidence.wallClocks.length === 1;
}

/** Whether one process judged a region throughout a time, and the store took everything since a state of the region. */
function wasWatched(
  evidence: Evidence,
  { life, moment }: RegionState,
  fromMs: number,
  toMs: number,
): boolean {
  return evidence.lives.some(
    ({ number, watchMs, lastPollMs }) =>
      number === life &&
      (watchMs ?? Infinity) <= fromMs &&
      (lastPollMs ?? Infinity) >= toMs &&
      !hasFault(evidence, life, moment, toMs),
  );
}

function endsAt(versions: readonly StoredIncident[], atMs: number): boolean {
  const end = versions.at(-1);
  return end?.phase === "over" && end.atMs === atMs;
}

/** Whether the incident of a region was silenced in a time before a moment: both where both are possible. */
function silencedFor(
  evidence: Evidence,
  { rule, region }: StoredIncident,
  { moment, atMs, utcMs }: Moment,
  ms: number,
): readonly boolean[] {
  const life = evidence.lives.findLast(({ startMs }) => startMs <= atMs)?.number ?? 1;
  const waitedMs = ms + stalledMs(evidence, atMs - 3_000, atMs);
  const time = { life, moment, utcMs: utcMs - waitedMs, fromMs: atMs - waitedMs, toMs: atMs };
  // No silence of a target matches its region.
  return silencedAt(evidence, { rule, target: `${region}/`, server: "" }, { ...time, ...noTime });
}

/** What is silenced is not notified; what is not silenced any more is, as long as it goes on. */
function silenceFaults(
  evidence: Evidence,
  rule: RegionRule,
  versions: readonly StoredIncident[],
  states: readonly RegionState[],
): readonly string[] {
  // It is judged once in each interval.
  const judgedMs = longestPollDistanceMs(evidence.scenario) + 2 * judgedWithinMs;
  return versions.flatMap((version, at) => {
    const { id, atMs, phase, isNotified } = version;
    if (phase !== "firing") return [];
    const next = versions[at + 1];
    // A poll that ended it, or made it another one, was stored before.
    const untilMs = (next?.atMs ?? evidence.endMs) - judgedWithinMs;
    const until = {
      atMs: untilMs,
      moment: next?.moment ?? Infinity,
      utcMs: version.utcMs + untilMs - atMs,
    };
    const known = states.findLast((each) => each.atMs <= untilMs - judgedMs);
    const isJudged =
      known !== undefined &&
      untilMs - atMs > judgedMs &&
      evidence.wallClocks.length === 1 &&
      wasWatched(evidence, known, untilMs - judgedMs, untilMs) &&
      inForce(states, untilMs - judgedMs, untilMs).every((each) => fails(rule, each, true));
    const wasNotified = versions[at - 1]?.isNotified ?? false;
    const begun = isNotified && !wasNotified && silencedFor(evidence, version, version, commitMs);
    const throughout = isJudged ? silencedFor(evidence, version, until, judgedMs) : [true, false];
    return [
      ...(begun && !begun.includes(false) ? [`${id} was notified while it was silenced`] : []),
      ...(isNotified && !throughout.includes(false) ? [`${id} was not ended by a silence`] : []),
      ...(!isNotified && !throughout.includes(true) ? [`${id} fired and was not notified`] : []),
      ...(!isNotified &&
      at === 0 &&
      !silencedFor(evidence, version, version, commitMs).includes(true)
        ? [`${id} fired and was not to be notified`]
        : []),
    ];
  });
}

/** Where half of the targets failed until the region was certainly judged, and nothing fired. */
function missingIncidents(
  evidence: Evidence,
  rule: RegionRule,
  incidents: readonly (readonly StoredIncident[])[],
  states: readonly RegionState[],
): readonly string[] {
  const missing = states.filter((state) => {
    const { atMs, life, moment } = state;
    const untilMs = atMs + judgedWithinMs;
    const { lastPollMs = 0, watchMs } = evidence.lives[life - 1] ?? {};
    const isJudged =
      watchMs !== null &&
      (lastPollMs ?? Infinity) > untilMs &&
      !hasFault(evidence, life, moment, untilMs) &&
      stalledMs(evidence, atMs, untilMs) === 0;
    return (
      isJudged &&
      inForce(states, atMs, untilMs).every((each) => fails(rule, each, true)) &&
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
  if (evidence.silences.some(({ match }) => match.rules.includes(rule.name))) return [];
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
