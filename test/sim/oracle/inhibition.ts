import type { RegionRule, ScenarioRule, TargetRule } from "../draw/rules.ts";
import type { StoredIncident } from "../history.ts";
import { hasFault, stalledMs, violation, type Evidence, type Violation } from "./evidence.ts";
import { fails, inForce, type RegionState } from "./region-states.ts";
import type { Inhibition } from "./incident-model.ts";
import { silencedAt } from "./people.ts";
import { dueOf, informedOf, matchedOf } from "./recipients.ts";
import { findingOf, type JudgedPoll } from "./target-polls.ts";

interface Subject {
  readonly rule: string;
  readonly target: string;
  /** By sandbox and server id, a sandbox by its id alone; null: the target itself. */
  readonly server: string | null;
}

/** What the store had of an incident at a time. */
function versionAt(versions: readonly StoredIncident[], atMs: number): StoredIncident | undefined {
  return versions.findLast((each) => each.atMs <= atMs);
}

/** Whether the store says that another incident inhibits one of a subject, and whether another one fires that may. */
export function inhibitionOf(evidence: Evidence, { rule, target, server }: Subject) {
  const region = target.split("/")[0] ?? "";
  const all = [...evidence.storedIncidents.values()];
  const own = all.filter(
    ([first]) => first?.rule === rule && first.target === target && first.server === server,
  );
  const others = all.filter(
    ([first]) =>
      first?.region === region &&
      first.server === null &&
      first.rule !== rule &&
      (first.target ?? target) === target,
  );
  const rules = new Map(evidence.scenario.rules.map((each) => [each.name, each]));
  const ofServers = all.filter(
    ([first]) =>
      first?.target === target &&
      server !== null &&
      isServerOf(first.server, server) &&
      isSameStatus(rules.get(first.rule), rules.get(rule)),
  );
  const names = new Set(evidence.scenario.receivers.map(({ name }) => name));
  /** Other receivers do not show of what they were notified. */
  const isShown = ({ receivers }: StoredIncident): boolean =>
    receivers.some((each) => names.has(each));
  return (atMs: number): Inhibition => {
    const firing = (incidents: typeof all) =>
      incidents
        .map((versions) => versionAt(versions, atMs))
        .filter((version) => version?.phase === "firing");
    const last = firing(own).at(-1);
    return {
      isClaimed: last !== undefined && last.inhibitedBy !== null && !isShown(last),
      isElsewhere: last?.isNotified ?? false,
      isPossible: firing(others).length > 0 || firing(ofServers).length > 0,
    };
  };
}

/** Whether the first is a server in the second, which is a sandbox. */
function isServerOf(server: string | null, sandbox: string): boolean {
  return server?.startsWith(`${sandbox} `) ?? false;
}

/** Whether one rule is on servers and the other on sandboxes, both of the same status. */
function isSameStatus(ofServer: ScenarioRule | undefined, ofBox: ScenarioRule | undefined) {
  return ofServer?.on === "server" && ofBox?.on === "sandbox" && ofServer.status === ofBox.status;
}

/** From when on a receiver is notified of an incident that another one inhibited; null: it is not. */
export function inhibitedUntilMs(
  { storedIncidents }: Evidence,
  incidentId: string,
  receiver: string,
): number | null {
  const versions = storedIncidents.get(incidentId) ?? [];
  if (!versions.some(({ inhibitedBy }) => inhibitedBy !== null)) return 0;
  return versions.find(({ receivers }) => receivers.includes(receiver))?.atMs ?? null;
}

/** Whether another incident inhibited one at any time. */
export function wasInhibited({ storedIncidents }: Evidence, incidentId: string): boolean {
  return storedIncidents.get(incidentId)?.some(({ inhibitedBy }) => inhibitedBy !== null) ?? false;
}

/**
 * Whom an incident of a target, its sandboxes or its servers concerns is notified of it, or it is stored what it is inhibited by: an
 * incident that fires then, explains it, and notifies them. Nobody is notified of what is inhibited.
 */
export function checkInhibition(
  evidence: Evidence,
  target: string,
  polls: readonly JudgedPoll[],
  region: readonly RegionState[],
): readonly Violation[] {
  const { rules } = evidence.scenario;
  const ofRegion = target.split("/")[0];
  const stored = [...evidence.storedIncidents.values()];
  const own = stored.filter(([first]) => first?.target === target);
  const explaining = stored.filter(
    ([first]) => first?.region === ofRegion && (first?.target ?? target) === target,
  );
  const ruleOf = (name: string): ScenarioRule | undefined =>
    rules.find((each) => each.name === name);

  /** The incidents that inhibit one at a poll: those that may, and those that certainly do. */
  const inhibitors = (
    rule: ScenarioRule,
    server: string | null,
    poll: JudgedPoll,
    isSure: boolean,
  ) =>
    explaining.flatMap((versions) => {
      const present = versionAt(versions, poll.toMs);
      const other = ruleOf(present?.rule ?? "");
      if (!present || !other || present.rule === rule.name) return [];
      if (present.server !== null && !isServerOf(present.server, server ?? "")) return [];
      const inhibits =
        other.on === "region"
          ? rule.on === "target" &&
            poll.kinds.length > 0 &&
            regionFails(evidence, other, poll, versions, region, isSure)
          : present.phase === "firing" && explains(rule, other, present);
      const about = matchedOf(other, target, present.server, poll);
      return inhibits
        ? [{ id: present.id, receivers: informedOf(evidence, other, about, poll.life) }]
        : [];
    });

  return polls.flatMap((poll, at) =>
    own.flatMap((versions): readonly Violation[] => {
      const present = versionAt(versions, poll.toMs);
      const rule = evidence.lives[poll.life - 1]?.rules.find((each) => each.name === present?.rule);
      if (!present || !rule || present.phase !== "firing") return [];
      if (!holdsFor(rule, poll, present.server)) return [];
      const { id, inhibitedBy, receivers, server } = present;
      const subject = server === null ? target : `${target} ${server}`;
      const before =
        versionAt(versions, polls[at - 1]?.toMs ?? -1) ?? endedFor(own, versions[0] ?? present);
      const possible = inhibitors(rule, server, poll, false);
      const sure = inhibitors(rule, server, poll, true);
      const silenced = silencedAt(
        evidence,
        { rule: rule.name, target, server: server ?? "" },
        poll,
      );
      const informed = informedOf(evidence, rule, matchedOf(rule, target, server, poll), poll.life);
      const isExplainedToAll =
        sure.length > 0 &&
        informed.every((name) => sure.some((each) => each.receivers.includes(name)));
      const due = dueOf(evidence, rule, { target, server, versions, before, present, polls }, poll);
      const missing = due.must.filter((name) => !receivers.includes(name));
      const names = (some: typeof possible, receiver: string): boolean =>
        some.some((each) => each.receivers.includes(receiver));
      const added = receivers.filter((name) => !before?.receivers.includes(name));
      const needless = added.filter((name) => names(sure, name));
      const uninformed = missing.filter((name) =>
        due.isStep(name) ? possible.length === 0 : inhibitedBy === null || !names(possible, name),
      );
      const wrong = added.flatMap((name) => {
        const why = due.isStep(name) && isExplainedToAll ? "it is inhibited" : due.whyNot(name);
        return why === null ? [] : [`was notified to ${name}, though ${why}`];
      });
      const isExplained = inhibitedBy === null || possible.some((each) => each.id === inhibitedBy);
      return [
        ...(isExplained ? [] : [`is inhibited by ${inhibitedBy}, which does not explain it`]),
        ...needless.map((name) => `was notified to ${name}, though another incident explains it`),
        ...wrong,
        ...(silenced.includes(true) ? [] : uninformed).map(
          (name) => `was not notified to ${name}, and nothing inhibits it`,
        ),
      ].map((what) => violation(`${id} of ${subject} ${what} (at ${poll.fromMs} ms)`, id, target));
    }),
  );
}

/**
 * What the store has of the incident that ended as this one began: of one that is silenced the end is notified, and it goes on
 * as another one since the same time. PagerDuty keeps its alert meanwhile.
 */
function endedFor(
  own: readonly (readonly StoredIncident[])[],
  { id, rule, server, startedUtcMs, moment }: StoredIncident,
): StoredIncident | undefined {
  return own
    .flatMap((versions) => versions.at(-1) ?? [])
    .find(
      (last) =>
        last.id !== id &&
        last.phase === "over" &&
        last.rule === rule &&
        last.server === server &&
        last.startedUtcMs === startedUtcMs &&
        last.moment === moment,
    );
}

function holdsFor(rule: ScenarioRule, poll: JudgedPoll, server: string | null): boolean {
  if (rule.on === "target") return findingOf(rule, poll) === "holds";
  if (rule.on === "sandbox") return poll.boxes?.get(server ?? "")?.own === rule.status;
  return rule.on === "server" && poll.shown?.get(server ?? "")?.status === rule.status;
}

/** Whether one incident of a target explains another of it, or of its servers; one of a server, another of its sandbox. */
function explains(rule: ScenarioRule, other: ScenarioRule, present: StoredIncident): boolean {
  const { isClearing, isFlapping } = present;
  // What flaps may be well for long.
  const holds = !isClearing || !isFlapping;
  if (other.on === "server") return isSameStatus(other, rule) && holds;
  if (other.on !== "target") return false;
  if (rule.on === "server" || rule.on === "sandbox") return holds;
  return isFailing(rule) && !isFailing(other) && !isClearing;
}

function isFailing(rule: ScenarioRule): rule is TargetRule {
  return rule.on === "target" && rule.trouble === "failing";
}

/** How long it may take until a region is judged after a poll. */
export const judgedWithinMs = 1_500;

/** Whether the incident of a region fires, and explains at a poll that one of its targets fails. */
function regionFails(
  evidence: Evidence,
  rule: RegionRule,
  { life, fromMs, toMs }: JudgedPoll,
  incident: readonly StoredIncident[],
  region: readonly RegionState[],
  isSure: boolean,
): boolean {
  const sinceMs = fromMs - judgedWithinMs - stalledMs(evidence, fromMs - 3_000, toMs);
  const isFaulty = hasFault(evidence, life, 0, toMs);
  const firing = inForce(incident, sinceMs, toMs).map(({ phase }) => phase === "firing");
  const failing = inForce(region, sinceMs, toMs).map((state) => fails(rule, state, isSure));
  if (!isSure) return firing.includes(true) && (isFaulty || failing.includes(true));
  return (
    !isFaulty && (incident[0]?.atMs ?? toMs) < sinceMs && ![...firing, ...failing].includes(false)
  );
}
