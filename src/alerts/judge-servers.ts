import { statusBefore, type Diff } from "../fleet/diff.ts";
import type { Presence } from "../fleet/model.ts";
import { eachInSlices, type Slices } from "../fleet/slices.ts";
import { findListedServer, findServer, listedServers } from "../fleet/snapshot.ts";
import type { Server, Snapshot } from "../fleet/snapshot.ts";
import type { IncidentEngine, Inhibitor } from "./incident-engine.ts";
import type { ClockReading, SubjectEvent } from "./incident-phase.ts";
import { conditionOfIncident, type Incident } from "./incident.ts";
import { holdsForServer, type ServerRule } from "./rule.ts";
import { conditionOfStatus, type ServerSubject } from "./subjects.ts";
import type { TargetState } from "./target-state.ts";

interface ObservedListing {
  readonly snapshot: Snapshot;
  readonly diff: Pick<Diff, "servers">;
  readonly complete: boolean;
  /** The reading of the servers' clock at this listing, and what passed on it since the last one. */
  readonly now: ClockReading;
  readonly passed: ClockReading;
  /** The firing incidents that say that the target is down. */
  readonly inhibitors: readonly Inhibitor[];
}

/** Judging this many servers takes about a millisecond. */
const judgedPerSlice = 128;

/** Judges the servers of one target by the rules that are about them, after an accepted listing. */
export function* judgeServers(
  engine: IncidentEngine,
  state: TargetState,
  observed: ObservedListing,
  rules: readonly ServerRule[],
): Slices<void> {
  if (rules.length === 0) return;
  const { listed, unlisted } = yield* serversToJudge(engine, state, observed, rules);
  yield* eachInSlices(listed.values(), judgedPerSlice, (judged) =>
    judgeListed(engine, judged, observed, rules),
  );
  yield* eachInSlices(unlisted, judgedPerSlice, (incident) => {
    const rule = rules.find(({ name }) => name === incident.rule);
    if (!rule) return;
    const event: SubjectEvent = isServerGone(incident.subject, state, observed)
      ? { kind: "gone", now: observed.now }
      : { kind: "unobserved", passed: observed.passed };
    const condition = conditionOfIncident(incident);
    engine.advance(rule, incident.subject, event, { condition, status: "absent" });
  });
  engine.forgetSettled(rules, observed.now.ms);
}

interface Judged {
  readonly sandboxId: string;
  readonly server: Server;
  readonly previousStatus: Presence | null;
}

interface ServerIncident extends Incident {
  readonly subject: ServerSubject;
}

/**
 * Only what differs can change its incidents: servers that are another object than before, and servers that have an
 * incident, unless that goes on as it is. Under new rules listings are judged as a whole, up to the first complete one.
 * A server without an incident is of interest only in a status that a rule is about.
 *
 * @returns by sandbox and server id, and the incidents of servers that the listing lacked
 */
function* serversToJudge(
  engine: IncidentEngine,
  state: TargetState,
  { snapshot, diff, now }: ObservedListing,
  rules: readonly ServerRule[],
): Slices<{
  readonly listed: ReadonlyMap<string, Judged>;
  readonly unlisted: readonly ServerIncident[];
}> {
  const listed = new Map<string, Judged>();
  const unlisted: ServerIncident[] = [];
  const statuses = new Set(rules.map(({ status }) => status));
  const ruleByName = new Map(rules.map((rule) => [rule.name, rule]));
  const add = (sandboxId: string, server: Server, previousStatus: Presence | null = null): void => {
    listed.set(JSON.stringify([sandboxId, server.id]), { sandboxId, server, previousStatus });
  };
  if (!state.rulesApplied) {
    let isFirst = true;
    for (const some of listedServers(snapshot, statuses)) {
      if (!isFirst) yield;
      isFirst = false;
      for (const { sandbox, server } of some) add(sandbox.id, server);
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
  yield* eachInSlices(state.incidents.values(), judgedPerSlice, (incident) => {
    if (!isOfServer(incident)) return;
    const { sandboxId, serverId } = incident.subject;
    const server = findListedServer(snapshot, sandboxId, serverId);
    if (!server) unlisted.push(incident);
    else if (!goesOn(incident, server)) add(sandboxId, server);
  });
  yield* eachInSlices(diff.servers, judgedPerSlice, (each) => {
    const { sandboxId, before, after } = each;
    if (!after || after.missing > 0 || !statuses.has(after.status)) return;
    add(sandboxId, after, before?.status === after.status ? null : statusBefore(each));
  });
  return { listed, unlisted };
}

function judgeListed(
  engine: IncidentEngine,
  { sandboxId, server, previousStatus }: Judged,
  observed: ObservedListing,
  rules: readonly ServerRule[],
): void {
  const { id: serverId, name: serverName, status, benchmark, tags } = server;
  const subject: ServerSubject = { kind: "server", sandboxId, serverId, serverName };
  for (const rule of rules) {
    const condition = conditionOfStatus(rule.status);
    const seen = { condition, status, previousStatus, benchmark, tags };
    engine.advance(rule, subject, eventOf(rule, server, observed), seen, observed.inhibitors);
  }
}

function eventOf(rule: ServerRule, server: Server, { now, passed }: ObservedListing): SubjectEvent {
  if (holdsForServer(rule, server)) return { kind: "holds", now };
  // The server still has the status, but the rule no longer applies to it: it did not recover.
  if (server.status === rule.status) return { kind: "rule_removed" };
  // A status that the service did not state is no recovery.
  if (server.status === "unknown") return { kind: "unobserved", passed };
  return { kind: "clears", now };
}

/** A server that the previous snapshot lacks (its row may be damaged) is gone if a complete listing lacks it too. */
function isServerGone(
  { sandboxId, serverId }: ServerSubject,
  { snapshot: before }: TargetState,
  { snapshot, complete }: ObservedListing,
): boolean {
  if (findServer(snapshot, sandboxId, serverId)) return false;
  return complete || findServer(before, sandboxId, serverId) !== undefined;
}

function isOfServer(incident: Incident): incident is ServerIncident {
  return incident.subject.kind === "server";
}
