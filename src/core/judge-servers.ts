import { conditionOfIncident, conditionOfStatus } from "./condition.ts";
import type { IncidentLedger, SubjectEvent } from "./incident-ledger.ts";
import type { ClockReading } from "./incident-phase.ts";
import type { Subject } from "./incident.ts";
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

/** Judges the servers of one target by the server rules, after an accepted listing. */
export function judgeServers(
  ledger: IncidentLedger,
  state: TargetState,
  sight: Sight,
  allRules: readonly Rule[],
): void {
  const rules = serverRules(allRules, state.target);
  if (rules.length === 0) return;
  for (const { server, previousStatus } of serversToJudge(state, sight, rules).values()) {
    const subject: Subject = {
      kind: "server",
      sandboxId: server.sandboxId,
      serverId: server.serverId,
      serverName: server.serverName,
    };
    for (const rule of rules) {
      ledger.advance(rule, subject, eventOf(rule, server, sight.now), {
        status: server.status,
        previousStatus,
        condition: conditionOfStatus(rule.status),
        benchmark: server.benchmark,
        tags: server.tags,
      });
    }
  }
  judgeUnlisted(ledger, state, sight, rules);
  const { sighting, now } = sight;
  forgetSettled(
    ledger,
    state.flaps,
    now.ms,
    rules,
    ({ subject }) => subject.kind === "server" && sighting.isRemoved(subject),
  );
}

function eventOf(rule: ServerRule, server: ServerRow, now: ClockReading): SubjectEvent {
  if (holdsForServer(rule, server)) return { kind: "holds", now };
  // It shows the status still, but is not what the rule is about any more: it did not recover.
  if (server.status === rule.status) return { kind: "rule_removed" };
  return { kind: "clears", now };
}

interface Judged {
  readonly server: ServerRow;
  readonly previousStatus: Presence | null;
}

/**
 * Only what differs can change its incidents: servers that were touched, and servers that have one.
 * Under new rules listings are judged as a whole, up to the first complete one. A server without an
 * incident is of interest only in a status that a rule is about.
 */
function serversToJudge(
  state: TargetState,
  { sighting }: Sight,
  rules: readonly ServerRule[],
): ReadonlyMap<string, Judged> {
  const judged = new Map<string, Judged>();
  const add = (server: ServerRow, previousStatus: Presence | null): void => {
    judged.set(serverKey(server), { server, previousStatus });
  };
  const ruled = new Set(rules.map(({ status }) => status));
  if (!state.rulesApplied) {
    for (const server of sighting.listed(ruled)) add(server, null);
  }
  for (const { subject } of state.incidents.values()) {
    if (subject.kind !== "server" || !sighting.isListed(subject)) continue;
    const server = sighting.snapshot.server(subject.sandboxId, subject.serverId);
    if (server) add(server, null);
  }
  for (const { server, from } of sighting.touched(ruled)) add(server, from);
  return judged;
}

function judgeUnlisted(
  ledger: IncidentLedger,
  state: TargetState,
  { sighting, passed }: Sight,
  rules: readonly ServerRule[],
): void {
  const ruleByName = new Map(rules.map((rule) => [rule.name, rule]));
  for (const incident of state.incidents.values()) {
    const { subject } = incident;
    const rule = ruleByName.get(incident.rule);
    if (subject.kind !== "server" || !rule) continue;
    if (sighting.isListed(subject)) continue;
    const gone = sighting.isRemoved(subject);
    ledger.advance(rule, subject, gone ? { kind: "gone" } : { kind: "unseen", passed }, {
      status: "absent",
      previousStatus: incident.status,
      condition: conditionOfIncident(incident),
    });
  }
}

function serverRules(rules: readonly Rule[], target: Target): readonly ServerRule[] {
  return rules.filter(
    (rule): rule is ServerRule => rule.on === "server" && matchesTarget(rule.match, target),
  );
}
