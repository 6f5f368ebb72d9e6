import { type Diff, statusBefore } from "../fleet/diff.ts";
import type { Presence, Status } from "../fleet/model.ts";
import { eachInSlices, sandboxesPerSlice, type Slices } from "../fleet/slices.ts";
import {
  type Sandbox,
  type Snapshot,
  findListedServer,
  findServer,
  listedServers,
  type Server,
} from "../fleet/snapshot.ts";
import { countByStatus, type CountByStatus } from "../fleet/tallies.ts";
import type { IncidentEngine } from "./incident-engine.ts";
import type { Inhibitor } from "./recipients.ts";
import type { ClockReading, SubjectEvent } from "./incident-phase.ts";
import { conditionOfIncident, incidentKey, type Incident, type Observed } from "./incident.ts";
import type { Share } from "./notification.ts";
import { type StatusRule, concernsServer, holdsForServer, type ServerRule } from "./rule.ts";
import {
  conditionOfStatus,
  type SandboxSubject,
  type ServerSubject,
  type Subject,
} from "./subjects.ts";
import type { TargetState } from "./target-state.ts";

export interface ObservedListing {
  /** UTC milliseconds. */
  readonly atMs: number;
  readonly snapshot: Snapshot;
  readonly diff: Pick<Diff, "servers" | "sandboxes">;
  readonly complete: boolean;
  /** The reading of the clock of servers and sandboxes at this listing, and what passed on it since the last one. */
  readonly now: ClockReading;
  readonly passed: ClockReading;
  /** Since when the target had not been observed before it; null: it was. */
  readonly unobservedSinceMs: number | null;
  /** The firing incidents that say that the target is down. */
  readonly inhibitors: readonly Inhibitor[];
}

type StatusSubject = ServerSubject | SandboxSubject;

/** A server or a sandbox whose incidents may change. */
export interface Judged<Own extends StatusSubject, Item> {
  readonly subject: Own;
  readonly item: Item;
  /** The status before; null: it did not change. */
  readonly previousStatus: Presence | null;
}

/** Judging servers and judging sandboxes differ in this alone. */
export interface StatusJudge<Rule extends StatusRule, Own extends StatusSubject, Item> {
  isOf(subject: Subject): subject is Own;
  find(snapshot: Snapshot, subject: Own): Item | undefined;
  /** The same, only where the last listing held it. */
  findListed(snapshot: Snapshot, subject: Own): Item | undefined;
  subjectOf(sandboxId: string, item: Item): Own;
  /** All that the last listing held in these statuses, some at a time, now and then none. */
  listed(statuses: ReadonlySet<Status>): Iterable<readonly Judged<Own, Item>[]>;
  /** Adds those in these statuses that differ from the previous snapshot. */
  changed(statuses: ReadonlySet<Status>, add: (judged: Judged<Own, Item>) => void): Slices<void>;
  /** The status that rules judge; null: it has none of its own. */
  statusOf(item: Item): Status | null;
  holds(rule: Rule, item: Item): boolean;
  observed(item: Item): Partial<Observed>;
  itemsOf(sandbox: Sandbox): readonly Item[];
  /** How many of the target are in each status; null: that is not counted for what such a rule concerns. */
  counts(rule: Rule): CountByStatus | null;
  concerns(rule: Rule, item: Item): boolean;
  /** Incidents of which its condition is a consequence, besides those of its target. */
  inhibitors(rule: Rule, item: Item): readonly Inhibitor[];
}

/** Judging this many takes about a millisecond. */
export const judgedPerSlice = 128;

/** Judges the servers or the sandboxes of one target by the rules that are about them, after an accepted listing. */
export function* judgeStatuses<Rule extends StatusRule, Own extends StatusSubject, Item>(
  engine: IncidentEngine,
  state: TargetState,
  observed: ObservedListing,
  rules: readonly Rule[],
  judge: StatusJudge<Rule, Own, Item>,
): Slices<void> {
  if (rules.length === 0) return;
  const { unobservedSinceMs } = observed;
  const { listed, unlisted } = yield* selectJudged(engine, state, observed, rules, judge);
  const shares = new Map<Rule, Share>();
  for (const rule of rules) {
    if (!listed.values().some(({ item }) => judge.holds(rule, item))) continue;
    shares.set(rule, yield* countShare(rule, observed, judge));
  }
  yield* eachInSlices(listed.values(), judgedPerSlice, ({ subject, item, previousStatus }) => {
    const status = judge.statusOf(item) ?? "unknown";
    for (const rule of rules) {
      const condition = conditionOfStatus(rule.status);
      const own = judge.observed(item);
      const share = shares.get(rule) ?? null;
      const seen = { condition, status, previousStatus, unobservedSinceMs, share, ...own };
      const event = eventOf(rule, judge, item, observed);
      const inhibitors =
        event.kind === "holds"
          ? [...observed.inhibitors, ...judge.inhibitors(rule, item)]
          : observed.inhibitors;
      engine.advance(rule, subject, event, seen, inhibitors);
    }
  });
  yield* eachInSlices(unlisted, judgedPerSlice, ([incident, subject]) => {
    const rule = rules.find(({ name }) => name === incident.rule);
    if (!rule) return;
    const event: SubjectEvent = isGone(subject, state, observed, judge)
      ? { kind: "gone", now: observed.now }
      : { kind: "unobserved", passed: observed.passed };
    const condition = conditionOfIncident(incident);
    engine.advance(rule, subject, event, { condition, status: "absent", unobservedSinceMs });
  });
  engine.forgetSettled(rules, observed.now.ms);
}

/** Of all that a rule concerns in the target. */
function* countShare<Rule extends StatusRule, Own extends StatusSubject, Item>(
  rule: Rule,
  { snapshot, atMs }: ObservedListing,
  judge: StatusJudge<Rule, Own, Item>,
): Slices<Share> {
  const counts = judge.counts(rule);
  if (counts) return { count: counts[rule.status], total: countByStatus(counts), atMs };
  let count = 0;
  let total = 0;
  yield* eachInSlices(snapshot.sandboxes, sandboxesPerSlice, (sandbox) => {
    for (const item of judge.itemsOf(sandbox)) {
      if (!judge.concerns(rule, item)) continue;
      total += 1;
      if (judge.statusOf(item) === rule.status) count += 1;
    }
  });
  return { count, total, atMs };
}

/**
 * Only what differs can change its incidents: what is another object than before, and what has an incident, unless that
 * goes on as it is. Under new rules listings are judged as a whole, up to the first complete one. What has no incident is
 * of interest only in a status that a rule is about.
 *
 * @returns what the listing held, and the incidents of what it lacked
 */
function* selectJudged<Rule extends StatusRule, Own extends StatusSubject, Item>(
  engine: IncidentEngine,
  state: TargetState,
  { snapshot, now }: ObservedListing,
  rules: readonly Rule[],
  judge: StatusJudge<Rule, Own, Item>,
): Slices<{
  readonly listed: ReadonlyMap<string, Judged<Own, Item>>;
  readonly unlisted: readonly (readonly [Incident, Own])[];
}> {
  const listed = new Map<string, Judged<Own, Item>>();
  const unlisted: (readonly [Incident, Own])[] = [];
  const statuses = new Set(rules.map(({ status }) => status));
  const ruleByName = new Map(rules.map((rule) => [rule.name, rule]));
  const add = (judged: Judged<Own, Item>): void => {
    listed.set(incidentKey("", judged.subject), judged);
  };
  if (!state.rulesApplied) {
    let isFirst = true;
    for (const some of judge.listed(statuses)) {
      if (!isFirst) yield;
      isFirst = false;
      some.forEach(add);
    }
  }
  /** It was judged as it is before, and its incident waits for nothing. */
  const goesOn = (incident: Incident, subject: Own, item: Item): boolean => {
    if (judge.find(state.snapshot, subject) !== item) return false;
    const rule = ruleByName.get(incident.rule);
    if (!rule || !engine.goesOn(rule, incident, now)) return false;
    // The time until its reminder stands still while the status is unknown.
    return rule.remindEveryMs === null || judge.statusOf(item) === rule.status;
  };
  yield* eachInSlices(state.incidents.values(), judgedPerSlice, (incident) => {
    const { subject } = incident;
    if (!judge.isOf(subject)) return;
    const item = judge.findListed(snapshot, subject);
    if (item === undefined) unlisted.push([incident, subject]);
    else if (!goesOn(incident, subject, item)) {
      add({ subject: judge.subjectOf(subject.sandboxId, item), item, previousStatus: null });
    }
  });
  yield* judge.changed(statuses, add);
  return { listed, unlisted };
}

function eventOf<Rule extends StatusRule, Own extends StatusSubject, Item>(
  rule: Rule,
  judge: StatusJudge<Rule, Own, Item>,
  item: Item,
  { now, passed }: ObservedListing,
): SubjectEvent {
  if (judge.holds(rule, item)) return { kind: "holds", now };
  const status = judge.statusOf(item);
  // It still has the status, but the rule no longer applies to it: it did not recover.
  if (status === rule.status) return { kind: "rule_removed" };
  // A status that the service did not state is no recovery.
  if (status === "unknown" || status === null) return { kind: "unobserved", passed };
  return { kind: "clears", now };
}

/** What the previous snapshot lacks is gone if a complete listing lacks it too. */
function isGone<Rule extends StatusRule, Own extends StatusSubject, Item>(
  subject: Own,
  { snapshot: before }: TargetState,
  { snapshot, complete }: ObservedListing,
  judge: StatusJudge<Rule, Own, Item>,
): boolean {
  if (judge.find(snapshot, subject) !== undefined) return false;
  return complete || judge.find(before, subject) !== undefined;
}

/** Judges the servers of one target by the rules that are about them, after an accepted listing. */
export function judgeServers(
  engine: IncidentEngine,
  state: TargetState,
  observed: ObservedListing,
  rules: readonly ServerRule[],
): Slices<void> {
  return judgeStatuses<ServerRule, ServerSubject, Server>(engine, state, observed, rules, {
    isOf: (subject) => subject.kind === "server",
    find: (snapshot, { sandboxId, serverId }) => findServer(snapshot, sandboxId, serverId),
    findListed: (snapshot, { sandboxId, serverId }) =>
      findListedServer(snapshot, sandboxId, serverId),
    subjectOf,
    *listed(statuses) {
      for (const some of listedServers(observed.snapshot, statuses)) {
        yield some.map(({ sandbox, server: item }) => {
          return { subject: subjectOf(sandbox.id, item), item, previousStatus: null };
        });
      }
    },
    *changed(statuses, add) {
      yield* eachInSlices(observed.diff.servers, judgedPerSlice, (each) => {
        const { sandboxId, before, after: item } = each;
        if (!item || item.missing > 0 || !statuses.has(item.status)) return;
        const previousStatus = before?.status === item.status ? null : statusBefore(each);
        add({ subject: subjectOf(sandboxId, item), item, previousStatus });
      });
    },
    statusOf: ({ status }) => status,
    holds: holdsForServer,
    itemsOf: ({ servers }) => servers,
    counts: ({ match: { serverName, benchmark, tag } }) =>
      (serverName ?? benchmark ?? tag) ? null : observed.snapshot.tallies.servers,
    concerns: concernsServer,
    observed: ({ benchmark, tags }) => ({ benchmark, tags }),
    inhibitors: () => [],
  });
}

function subjectOf(sandboxId: string, { id, name }: Server): ServerSubject {
  return { kind: "server", sandboxId, serverId: id, serverName: name };
}
