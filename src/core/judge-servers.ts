import { conditionOfIncident, conditionOfStatus } from "./condition.ts";
import type { Change } from "./diff.ts";
import type { IncidentLedger } from "./incident-ledger.ts";
import type { ClockReading, IncidentEvent } from "./incident-phase.ts";
import type { Subject } from "./incident.ts";
import { holdsForServer, matchesTarget } from "./matching.ts";
import type { ListedSandbox, Target } from "./model.ts";
import type { Rule, ServerRule } from "./rule.ts";
import type { ServerId, ServerRow, SnapshotDelta } from "./snapshot.ts";
import type { TargetState } from "./target-state.ts";

/** What one accepted listing showed of a target. */
export interface Sight {
  readonly listed: ReadonlyMap<string, ListedSandbox>;
  readonly delta: SnapshotDelta;
  readonly changes: readonly Change[];
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
  const isListed = lookUpListed(sight.listed);
  const previous = new Map(sight.changes.map((change) => [serverKey(change), change.from]));
  for (const [key, server] of serversToJudge(state, sight, isListed)) {
    const subject: Subject = {
      kind: "server",
      sandboxId: server.sandboxId,
      serverId: server.serverId,
      serverName: server.serverName,
    };
    for (const rule of rules) {
      ledger.advance(rule, subject, eventOf(rule, server, sight.now), {
        status: server.status,
        previousStatus: previous.get(key) ?? null,
        condition: conditionOfStatus(rule.status),
      });
    }
  }
  judgeUnlisted(ledger, state, sight, rules, isListed);
}

function eventOf(rule: ServerRule, server: ServerRow, now: ClockReading): IncidentEvent {
  if (holdsForServer(rule, server)) return { kind: "holds", now };
  // It shows the status still, but is not what the rule is about any more: it did not recover.
  if (server.status === rule.status) return { kind: "rule_removed" };
  return { kind: "clears", now };
}

/**
 * Only what differs can change its incidents: rows that changed, and servers that have an incident.
 * Under new rules listings are judged as a whole, up to the first complete one.
 */
function serversToJudge(
  state: TargetState,
  sight: Sight,
  isListed: IsListed,
): ReadonlyMap<string, ServerRow> {
  const servers = new Map<string, ServerRow>();
  const addKnown = (sandboxId: string, serverId: string): void => {
    const known = state.snapshot.server(sandboxId, serverId);
    if (known) servers.set(serverKey(known), known);
  };
  if (!state.rulesApplied) {
    for (const sandbox of sight.listed.values()) {
      for (const { serverId } of sandbox.servers) addKnown(sandbox.sandboxId, serverId);
    }
  }
  for (const { subject } of state.incidents.values()) {
    if (subject.kind === "server" && isListed(subject)) {
      addKnown(subject.sandboxId, subject.serverId);
    }
  }
  for (const server of sight.delta.servers) {
    if (server.missing === 0) servers.set(serverKey(server), server);
  }
  return servers;
}

function judgeUnlisted(
  ledger: IncidentLedger,
  state: TargetState,
  { delta, passed }: Sight,
  rules: readonly ServerRule[],
  isListed: IsListed,
): void {
  const removed = new Set(delta.removedServers.map(serverKey));
  const ruleByName = new Map(rules.map((rule) => [rule.name, rule]));
  for (const incident of state.incidents.values()) {
    const { subject } = incident;
    const rule = ruleByName.get(incident.rule);
    if (subject.kind !== "server" || !rule) continue;
    if (isListed(subject)) continue;
    const gone = removed.has(serverKey(subject));
    ledger.advance(rule, subject, gone ? { kind: "gone" } : { kind: "unseen", passed }, {
      status: "absent",
      previousStatus: incident.status,
      condition: conditionOfIncident(incident),
    });
  }
}

type IsListed = (id: ServerId) => boolean;

/** Sandboxes without incidents are not indexed, and one with many only once. */
function lookUpListed(listed: ReadonlyMap<string, ListedSandbox>): IsListed {
  const serverIds = new Map<string, ReadonlySet<string>>();
  return ({ sandboxId, serverId }) => {
    let ids = serverIds.get(sandboxId);
    if (!ids) {
      ids = new Set(listed.get(sandboxId)?.servers.map((server) => server.serverId));
      serverIds.set(sandboxId, ids);
    }
    return ids.has(serverId);
  };
}

function serverRules(rules: readonly Rule[], target: Target): readonly ServerRule[] {
  return rules.filter(
    (rule): rule is ServerRule => rule.on === "server" && matchesTarget(rule.match, target),
  );
}

function serverKey({ sandboxId, serverId }: ServerId): string {
  return JSON.stringify([sandboxId, serverId]);
}
