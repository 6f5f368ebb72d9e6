import { statusBefore } from "../fleet/diff.ts";
import type { Diff } from "../fleet/diff.ts";
import type { Slices } from "../fleet/slices.ts";
import { findListedServer, findServer, listedServers } from "../fleet/snapshot.ts";
import type { Server, Snapshot } from "../fleet/snapshot.ts";
import type { Presence } from "../fleet/status.ts";
import { conditionOfIncident, conditionOfStatus } from "./condition.ts";
import type { IncidentEngine, SubjectEvent } from "./incident-engine.ts";
import type { ClockReading } from "./incident-phase.ts";
import type { Incident, Subject } from "./incident.ts";
import { holdsForServer, matchesTarget } from "./matching.ts";
import type { Target } from "../fleet/model.ts";
import type { Rule, ServerRule } from "./rule.ts";
import type { TargetState } from "./target-state.ts";
import { forgetSettled } from "./unowned.ts";

/** What one accepted listing showed of a target. */
export interface ObservedListing {
  readonly snapshot: Snapshot;
  readonly diff: Pick<Diff, "servers">;
  readonly complete: boolean;
  /** The reading of the servers' clock at this listing, and what passed on it since the last one. */
  readonly now: ClockReading;
  readonly passed: ClockReading;
}

/** As many are judged in about a millisecond. */
const judgedPerSlice = 128;

/** Judges the servers of one target by the server rules, after an accepted listing. */
export function* judgeServers(
  engine: IncidentEngine,
  state: TargetState,
  observed: ObservedListing,
  allRules: readonly Rule[],
): Slices<void> {
  const rules = serverRules(allRules, state.target);
  if (rules.length === 0) return;
  const { listed, unlisted } = yield* serversToJudge(engine, state, observed, rules);
  yield* eachInSlices(listed.values(), (judged) => judgeListed(engine, judged, observed, rules));
  yield* eachInSlices(unlisted, (incident) =>
    judgeUnlisted(engine, incident, state, observed, rules),
  );
  forgetSettled(
    engine,
    state.flaps,
    observed.now.ms,
    rules,
    ({ subject }) => subject.kind === "server" && isGone(subject, state, observed),
  );
}

function* eachInSlices<Item>(items: Iterable<Item>, use: (item: Item) => void): Slices<void> {
  let used = 0;
  for (const item of items) {
    if (++used % judgedPerSlice === 0) yield;
    use(item);
  }
}

interface Judged {
  readonly sandboxId: string;
  readonly server: Server;
  readonly previousStatus: Presence | null;
}

interface ServerIncident extends Incident {
  readonly subject: Extract<Subject, { kind: "server" }>;
}

interface ToJudge {
  readonly listed: ReadonlyMap<string, Judged>;
  /** Incidents of servers that the listing lacked. */
  readonly unlisted: readonly ServerIncident[];
}

/**
 * Only what differs can change its incidents: servers that are another object than before, and servers that have an
 * incident, unless that goes on as it is. Under new rules listings are judged as a whole, up to the first complete one.
 * A server without an incident is of interest only in a status that a rule is about.
 */
function* serversToJudge(
  engine: IncidentEngine,
  state: TargetState,
  { snapshot, diff, now }: ObservedListing,
  rules: readonly ServerRule[],
): Slices<ToJudge> {
  const listed = new Map<string, Judged>();
  const unlisted: ServerIncident[] = [];
  const ruled = new Set(rules.map(({ status }) => status));
  const ruleByName = new Map(rules.map((rule) => [rule.name, rule]));
  const add = (judged: Judged): void => {
    listed.set(JSON.stringify([judged.sandboxId, judged.server.id]), judged);
  };
  if (!state.rulesApplied) {
    let isFirst = true;
    for (const some of listedServers(snapshot, ruled)) {
      if (!isFirst) yield;
      isFirst = false;
      for (const { sandbox, server } of some) {
        add({ sandboxId: sandbox.id, server, previousStatus: null });
      }
    }
  }
  /** Whether the server was judged as it is before, and its incident waits for nothing. */
  const goesOn = (incident: ServerIncident, server: Server): boolean => {
    const { sandboxId, serverId } = incident.subject;
    if (findServer(state.snapshot, sandboxId, serverId) !== server) return false;
    const rule = ruleByName.get(incident.rule);
    if (!rule || !engine.goesOn(rule, incident, now)) return false;
    // The time until its reminder stands still while the status is unknown.
    return rule.remindEveryMs === null || server.status === rule.status;
  };
  yield* eachInSlices(state.incidents.values(), (incident) => {
    if (!isOfServer(incident)) return;
    const { sandboxId, serverId } = incident.subject;
    const server = findListedServer(snapshot, sandboxId, serverId);
    if (!server) unlisted.push(incident);
    else if (!goesOn(incident, server)) add({ sandboxId, server, previousStatus: null });
  });
  yield* eachInSlices(diff.servers, (each) => {
    const { sandboxId, before, after } = each;
    if (!after || after.missing > 0 || !ruled.has(after.status)) return;
    const isSame = before?.status === after.status;
    add({ sandboxId, server: after, previousStatus: isSame ? null : statusBefore(each) });
  });
  return { listed, unlisted };
}

function judgeListed(
  engine: IncidentEngine,
  { sandboxId, server, previousStatus }: Judged,
  observed: ObservedListing,
  rules: readonly ServerRule[],
): void {
  const subject: Subject = {
    kind: "server",
    sandboxId,
    serverId: server.id,
    serverName: server.name,
  };
  for (const rule of rules) {
    engine.advance(rule, subject, eventOf(rule, server, observed), {
      status: server.status,
      previousStatus,
      condition: conditionOfStatus(rule.status),
      benchmark: server.benchmark,
      tags: server.tags,
    });
  }
}

function eventOf(rule: ServerRule, server: Server, { now, passed }: ObservedListing): SubjectEvent {
  if (holdsForServer(rule, server)) return { kind: "holds", now };
  // It shows the status still, but is not what the rule is about any more: it did not recover.
  if (server.status === rule.status) return { kind: "rule_removed" };
  // A status that the service did not state is no recovery.
  if (server.status === "unknown") return { kind: "unobserved", passed };
  return { kind: "clears", now };
}

function judgeUnlisted(
  engine: IncidentEngine,
  incident: ServerIncident,
  state: TargetState,
  observed: ObservedListing,
  rules: readonly ServerRule[],
): void {
  const rule = rules.find(({ name }) => name === incident.rule);
  if (!rule) return;
  const event: SubjectEvent = isGone(incident.subject, state, observed)
    ? { kind: "gone" }
    : { kind: "unobserved", passed: observed.passed };
  engine.advance(rule, incident.subject, event, {
    status: "absent",
    previousStatus: incident.status,
    condition: conditionOfIncident(incident),
  });
}

/** One that was not known before, as after its row could not be read, is gone once a complete listing lacks it. */
function isGone(
  { sandboxId, serverId }: ServerIncident["subject"],
  { snapshot: before }: TargetState,
  { snapshot, complete }: ObservedListing,
): boolean {
  if (findServer(snapshot, sandboxId, serverId)) return false;
  return complete || findServer(before, sandboxId, serverId) !== undefined;
}

function isOfServer(incident: Incident): incident is ServerIncident {
  return incident.subject.kind === "server";
}

function serverRules(rules: readonly Rule[], target: Target): readonly ServerRule[] {
  return rules.filter(
    (rule): rule is ServerRule => rule.on === "server" && matchesTarget(rule.match, target),
  );
}
