import { conditionOfIncident, conditionOfStatus } from "./condition.ts";
import type { IncidentLedger, SubjectEvent } from "./incident-ledger.ts";
import type { ClockReading } from "./incident-phase.ts";
import type { Incident, Subject } from "./incident.ts";
import { eachInSteps } from "./in-steps.ts";
import type { InSteps } from "./in-steps.ts";
import { holdsForServer, matchesTarget } from "./matching.ts";
import type { Presence, Target } from "./model.ts";
import type { Rule, ServerRule } from "./rule.ts";
import type { Sighting } from "./snapshot/sighting.ts";
import { serverKey } from "./snapshot/snapshot.ts";
import type { ServerRow } from "./snapshot/snapshot.ts";
import type { TargetState } from "./target-state.ts";
import { forgetSettled } from "./unowned.ts";

/** What one accepted listing showed of a target. */
export interface Sight {
  readonly sighting: Sighting;
  /** The reading of the servers' clock at this listing, and what passed on it since the last. */
  readonly now: ClockReading;
  readonly passed: ClockReading;
}

/** As many are judged in about a millisecond. */
const judgedAtOnce = 128;

/** Judges the servers of one target by the server rules, after an accepted listing. */
export function* judgeServers(
  ledger: IncidentLedger,
  state: TargetState,
  sight: Sight,
  allRules: readonly Rule[],
): InSteps<void> {
  const rules = serverRules(allRules, state.target);
  if (rules.length === 0) return;
  const ruleByName = new Map(rules.map((rule) => [rule.name, rule]));
  const isUntouched = sight.sighting.untouched(state.incidents.size);
  /** Whether its server was judged as it is before, and it waits for nothing. */
  const goesOn = (incident: ServerIncident): boolean => {
    if (!isUntouched?.(incident.subject)) return false;
    const rule = ruleByName.get(incident.rule);
    if (!rule || !ledger.goesOn(rule, incident, sight.now)) return false;
    // The time until its reminder stands still while the status is unknown.
    return (
      rule.remindEveryMs === null ||
      sight.sighting.listedServer(incident.subject)?.status === rule.status
    );
  };
  const { listed, unlisted } = yield* serversToJudge(state, sight, rules, goesOn);
  const toJudge = listed.values();
  while (judgeSome(toJudge, ledger, rules, sight)) yield;
  yield* judgeUnlisted(ledger, unlisted, sight, ruleByName);
  const { sighting, now } = sight;
  forgetSettled(
    ledger,
    state.flaps,
    now.ms,
    rules,
    ({ subject }) => subject.kind === "server" && sighting.isRemoved(subject),
  );
}

/**
 * Apart from the steps: what is made for one poll is compiled anew for another.
 *
 * @returns whether there may be others
 */
function judgeSome(
  listed: Iterator<Judged>,
  ledger: IncidentLedger,
  rules: readonly ServerRule[],
  sight: Sight,
): boolean {
  for (let left = judgedAtOnce; left > 0; left--) {
    const next = listed.next();
    if (next.done) return false;
    judgeOne(next.value, ledger, rules, sight);
  }
  return true;
}

function judgeOne(
  { server, previousStatus }: Judged,
  ledger: IncidentLedger,
  rules: readonly ServerRule[],
  sight: Sight,
): void {
  const { sandboxId, serverId, serverName } = server;
  const subject: Subject = { kind: "server", sandboxId, serverId, serverName };
  for (const rule of rules) {
    ledger.advance(rule, subject, eventOf(rule, server, sight), {
      status: server.status,
      previousStatus,
      condition: conditionOfStatus(rule.status),
      benchmark: server.benchmark,
      tags: server.tags,
    });
  }
}

function eventOf(rule: ServerRule, server: ServerRow, { now, passed }: Sight): SubjectEvent {
  if (holdsForServer(rule, server)) return { kind: "holds", now };
  // It shows the status still, but is not what the rule is about any more: it did not recover.
  if (server.status === rule.status) return { kind: "rule_removed" };
  // A status that the service did not state is no recovery.
  if (server.status === "unknown") return { kind: "unseen", passed };
  return { kind: "clears", now };
}

interface Judged {
  readonly server: ServerRow;
  readonly previousStatus: Presence | null;
}

interface ToJudge {
  readonly listed: ReadonlyMap<string, Judged>;
  /** Incidents of servers that the listing lacked. */
  readonly unlisted: readonly ServerIncident[];
}

interface ServerIncident extends Incident {
  readonly subject: Extract<Subject, { kind: "server" }>;
}

/**
 * Only what differs can change its incidents: servers that were touched, and servers that have one,
 * unless that goes on as it is. Under new rules listings are judged as a whole, up to the first
 * complete one. A server without an incident is of interest only in a status that a rule is about.
 */
function* serversToJudge(
  state: TargetState,
  { sighting }: Sight,
  rules: readonly ServerRule[],
  goesOn: (incident: ServerIncident) => boolean,
): InSteps<ToJudge> {
  const listed = new Map<string, Judged>();
  const unlisted: ServerIncident[] = [];
  const add = (server: ServerRow, previousStatus: Presence | null): void => {
    listed.set(serverKey(server), { server, previousStatus });
  };
  const ruled = new Set(rules.map(({ status }) => status));
  if (!state.rulesApplied) {
    yield* eachInSteps(sighting.listed(ruled), 1, (servers) => {
      for (const server of servers) add(server, null);
    });
  }
  yield* eachInSteps(state.incidents.values(), judgedAtOnce, (incident) => {
    if (!isOfServer(incident) || goesOn(incident)) return;
    const server = sighting.listedServer(incident.subject);
    if (server) add(server, null);
    else unlisted.push(incident);
  });
  yield* eachInSteps(sighting.touched(ruled), 1, (servers) => {
    for (const { server, from } of servers) add(server, from);
  });
  return { listed, unlisted };
}

function isOfServer(incident: Incident): incident is ServerIncident {
  return incident.subject.kind === "server";
}

function* judgeUnlisted(
  ledger: IncidentLedger,
  unlisted: readonly ServerIncident[],
  { sighting, passed }: Sight,
  ruleByName: ReadonlyMap<string, ServerRule>,
): InSteps<void> {
  yield* eachInSteps(unlisted, judgedAtOnce, (incident) => {
    const { subject } = incident;
    const rule = ruleByName.get(incident.rule);
    if (!rule) return;
    const gone = sighting.isRemoved(subject);
    ledger.advance(rule, subject, gone ? { kind: "gone" } : { kind: "unseen", passed }, {
      status: "absent",
      previousStatus: incident.status,
      condition: conditionOfIncident(incident),
    });
  });
}

function serverRules(rules: readonly Rule[], target: Target): readonly ServerRule[] {
  return rules.filter(
    (rule): rule is ServerRule => rule.on === "server" && matchesTarget(rule.match, target),
  );
}
