import { type Diff, statusBefore } from "../fleet/diff.ts";
import type { Presence, Status } from "../fleet/model.ts";
import { eachInSlices, sandboxesPerSlice, type Slices } from "../fleet/slices.ts";
import { findListedSandbox, findSandbox, isListed } from "../fleet/snapshot.ts";
import type { Sandbox, Server, Snapshot } from "../fleet/snapshot.ts";
import { countByStatus, type CountByStatus } from "../fleet/tallies.ts";
import type { IncidentEngine } from "./incident-engine.ts";
import type { Inhibitor } from "./recipients.ts";
import type { ClockReading, SubjectEvent } from "./incident-phase.ts";
import { conditionOfIncident, incidentKey, type Incident, type Observed } from "./incident.ts";
import { namesOfServers, type Share } from "./notification.ts";
import { concernsSandbox, concernsServer } from "./rule.ts";
import type { SandboxRule, ServerRule, StatusRule } from "./rule.ts";
import { conditionOfStatus } from "./subjects.ts";
import type { SandboxSubject, ServerSubject, Subject } from "./subjects.ts";
import type { TargetState } from "./target-state.ts";

interface ObservedListing {
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
interface Judged<Own extends StatusSubject, Item> {
  readonly subject: Own;
  readonly item: Item;
  /** The status before; null: it did not change. */
  readonly previousStatus: Presence | null;
}

/** Judging servers and judging sandboxes differ in this alone. */
interface StatusJudge<
  Rule extends StatusRule,
  Own extends StatusSubject,
  Item extends Server | Sandbox,
> {
  isOf(subject: Subject): subject is Own;
  itemsOf(sandbox: Sandbox): readonly Item[];
  isItem(item: Item, subject: Own): boolean;
  subjectOf(sandbox: Sandbox, item: Item): Own;
  /** Adds those in these statuses that differ from the previous snapshot. */
  changed(statuses: ReadonlySet<Status>, add: (judged: Judged<Own, Item>) => void): Slices<void>;
  /** The status that rules judge; null: it has none of its own. */
  statusOf(item: Item): Status | null;
  /** Says whether a rule is about it, whatever its status is. */
  concerns(rule: Rule, item: Item): boolean;
  observed(item: Item): Partial<Observed>;
  /** How many of the target are in each status; null: that is not counted for what such a rule concerns. */
  counts(rule: Rule): CountByStatus | null;
  /** Incidents of which its condition is a consequence, besides those of its target. */
  inhibitors(rule: Rule, item: Item): readonly Inhibitor[];
}

/** Judging this many takes about a millisecond. */
const judgedPerSlice = 128;

/** Judges the servers or the sandboxes of one target by the rules that are about them, after an accepted listing. */
function* judgeStatuses<
  Rule extends StatusRule,
  Own extends StatusSubject,
  Item extends Server | Sandbox,
>(
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
    if (!listed.values().some(({ item }) => holds(rule, item, judge))) continue;
    shares.set(rule, yield* countShare(rule, observed, judge));
  }
  yield* eachInSlices(listed.values(), judgedPerSlice, ({ subject, item, previousStatus }) => {
    const status = judge.statusOf(item) ?? "unknown";
    for (const rule of rules) {
      const condition = conditionOfStatus(rule.status);
      const own = judge.observed(item);
      const share = shares.get(rule) ?? null;
      const seen = { condition, status, previousStatus, unobservedSinceMs, share, ...own };
      const event = eventOf(rule, item, judge, observed);
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
  engine.flaps.forgetSettled(rules, observed.now.ms);
}

/** Of all that a rule concerns in the target. */
function* countShare<
  Rule extends StatusRule,
  Own extends StatusSubject,
  Item extends Server | Sandbox,
>(
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
function* selectJudged<
  Rule extends StatusRule,
  Own extends StatusSubject,
  Item extends Server | Sandbox,
>(
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
    const listedSandboxes = snapshot.sandboxes.slice(0, snapshot.listedCount);
    yield* eachInSlices(listedSandboxes, sandboxesPerSlice, (sandbox) => {
      for (const item of judge.itemsOf(sandbox)) {
        const status = judge.statusOf(item);
        if (status === null || !statuses.has(status) || !isListed(snapshot, item)) continue;
        add({ subject: judge.subjectOf(sandbox, item), item, previousStatus: null });
      }
    });
  }
  /** It was judged as it is before, and its incident waits for nothing. */
  const goesOn = (incident: Incident, subject: Own, item: Item): boolean => {
    if (find(state.snapshot, subject, judge) !== item) return false;
    const rule = ruleByName.get(incident.rule);
    if (!rule || !engine.goesOn(rule, incident, now)) return false;
    // The time until its reminder stands still while the status is unknown.
    return rule.remindEveryMs === null || judge.statusOf(item) === rule.status;
  };
  yield* eachInSlices(state.incidents.values(), judgedPerSlice, (incident) => {
    const { subject } = incident;
    if (!judge.isOf(subject)) return;
    const sandbox = findListedSandbox(snapshot, subject.sandboxId);
    const item = find(snapshot, subject, judge);
    if (!sandbox || !item || !isListed(snapshot, item)) unlisted.push([incident, subject]);
    else if (!goesOn(incident, subject, item)) {
      add({ subject: judge.subjectOf(sandbox, item), item, previousStatus: null });
    }
  });
  yield* judge.changed(statuses, add);
  return { listed, unlisted };
}

function find<Rule extends StatusRule, Own extends StatusSubject, Item extends Server | Sandbox>(
  snapshot: Snapshot,
  subject: Own,
  judge: StatusJudge<Rule, Own, Item>,
): Item | undefined {
  const sandbox = findSandbox(snapshot, subject.sandboxId);
  return sandbox && judge.itemsOf(sandbox).find((item) => judge.isItem(item, subject));
}

/** Says whether the condition of a rule holds. */
function holds<Rule extends StatusRule, Own extends StatusSubject, Item extends Server | Sandbox>(
  rule: Rule,
  item: Item,
  judge: StatusJudge<Rule, Own, Item>,
): boolean {
  return judge.statusOf(item) === rule.status && judge.concerns(rule, item);
}

function eventOf<Rule extends StatusRule, Own extends StatusSubject, Item extends Server | Sandbox>(
  rule: Rule,
  item: Item,
  judge: StatusJudge<Rule, Own, Item>,
  { now, passed }: ObservedListing,
): SubjectEvent {
  if (holds(rule, item, judge)) return { kind: "holds", now };
  const status = judge.statusOf(item);
  // It still has the status, but the rule no longer applies to it: it did not recover.
  if (status === rule.status) return { kind: "rule_removed" };
  // A status that the service did not state is no recovery.
  if (status === "unknown" || status === null) return { kind: "unobserved", passed };
  return { kind: "clears", now };
}

/** What the previous snapshot lacks is gone if a complete listing lacks it too. */
function isGone<Rule extends StatusRule, Own extends StatusSubject, Item extends Server | Sandbox>(
  subject: Own,
  { snapshot: before }: TargetState,
  { snapshot, complete }: ObservedListing,
  judge: StatusJudge<Rule, Own, Item>,
): boolean {
  if (find(snapshot, subject, judge) !== undefined) return false;
  return complete || find(before, subject, judge) !== undefined;
}

/** Judges the servers of one target by the rules that are about them, after an accepted listing. */
export function judgeServers(
  engine: IncidentEngine,
  state: TargetState,
  observed: ObservedListing,
  rules: readonly ServerRule[],
): Slices<void> {
  const subjectOf = (sandboxId: string, { id, name }: Server): ServerSubject => {
    return { kind: "server", sandboxId, serverId: id, serverName: name };
  };
  return judgeStatuses<ServerRule, ServerSubject, Server>(engine, state, observed, rules, {
    isOf: (subject) => subject.kind === "server",
    itemsOf: ({ servers }) => servers,
    isItem: ({ id }, { serverId }) => id === serverId,
    subjectOf: (sandbox, server) => subjectOf(sandbox.id, server),
    *changed(statuses, add) {
      yield* eachInSlices(observed.diff.servers, judgedPerSlice, (each) => {
        const { sandboxId, before, after: item } = each;
        if (!item || item.missing > 0 || !statuses.has(item.status)) return;
        const previousStatus = before?.status === item.status ? null : statusBefore(each);
        add({ subject: subjectOf(sandboxId, item), item, previousStatus });
      });
    },
    statusOf: ({ status }) => status,
    concerns: concernsServer,
    observed: ({ benchmark, tags }) => ({ benchmark, tags }),
    counts: ({ match: { serverName, benchmark, tag } }) =>
      (serverName ?? benchmark ?? tag) ? null : observed.snapshot.tallies.servers,
    inhibitors: () => [],
  });
}

/**
 * Judges the sandboxes of one target by what they state themselves, after its servers: while an incident of one of its
 * servers with the same status fires, the incident of a sandbox is inhibited.
 */
export function judgeSandboxes(
  engine: IncidentEngine,
  state: TargetState,
  observed: ObservedListing,
  rules: readonly SandboxRule[],
  serverRules: readonly ServerRule[],
): Slices<void> {
  const { snapshot, diff } = observed;
  const dependsOnServers = rules.some(({ match }) => match.serverName ?? match.tag);
  const subjectOf = ({ id: sandboxId, benchmark }: Sandbox): SandboxSubject => {
    return { kind: "sandbox", sandboxId, benchmark };
  };
  return judgeStatuses<SandboxRule, SandboxSubject, Sandbox>(engine, state, observed, rules, {
    isOf: (subject) => subject.kind === "sandbox",
    itemsOf: (sandbox) => [sandbox],
    isItem: () => true,
    subjectOf,
    *changed(statuses, add) {
      const addIf = (item: Sandbox | null | undefined, previousStatus: Presence | null): void => {
        if (!item || item.missing > 0 || !item.statedStatus) return;
        if (!statuses.has(item.statedStatus)) return;
        add({ subject: subjectOf(item), item, previousStatus });
      };
      if (dependsOnServers) {
        yield* eachInSlices(diff.servers, judgedPerSlice, ({ sandboxId }) =>
          addIf(findListedSandbox(snapshot, sandboxId), null),
        );
      }
      yield* eachInSlices(diff.sandboxes, judgedPerSlice, ({ before, after }) => {
        const known = before ? (before.statedStatus ?? before.status) : "absent";
        addIf(after, known === after?.statedStatus ? null : known);
      });
    },
    statusOf: ({ statedStatus }) => statedStatus,
    concerns: concernsSandbox,
    observed: ({ servers }) => ({ servers: namesOfServers(servers) }),
    // Tallies count the status that a sandbox is shown with, which it need not state.
    counts: () => null,
    inhibitors: (rule, sandbox) =>
      serverRules.flatMap((each) =>
        each.status === rule.status ? firingOf(engine, each, sandbox) : [],
      ),
  });
}

/** The firing incidents that a rule has for servers of a sandbox, one for those with the same receivers. */
function firingOf(
  engine: IncidentEngine,
  rule: ServerRule,
  { id: sandboxId, servers }: Sandbox,
): readonly Inhibitor[] {
  const inhibitors = new Map<string, Inhibitor>();
  for (const server of servers) {
    const { id: serverId } = server;
    const subject = { kind: "server", sandboxId, serverId, serverName: null } as const;
    const incident = engine.current(rule, subject);
    if (incident?.phase.name !== "firing") continue;
    const { clearSinceMs, flapping } = incident.phase;
    // A server that flaps may be in another status for long.
    if (flapping && clearSinceMs !== null) continue;
    const receivers = engine.recipients.informed(
      rule,
      { ...subject, serverName: server.name },
      server,
    );
    inhibitors.set(receivers.join(), { incidentId: incident.id, receivers });
  }
  return [...inhibitors.values()];
}
