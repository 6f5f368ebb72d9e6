import type { Snapshot } from "../fleet/snapshot.ts";
import { noneByStatus } from "../fleet/tallies.ts";
import { conditionOfIncident } from "./condition.ts";
import type { Incident } from "./incident.ts";
import { createIncidentEngine } from "./incident-engine.ts";
import type { IncidentEngine, IncidentOutcome, SubjectEvent } from "./incident-engine.ts";
import type { Interventions } from "./interventions.ts";
import { ruleFingerprint } from "./matching.ts";
import { targetName } from "../fleet/model.ts";
import type { Instant, Target } from "../fleet/model.ts";
import type { IncidentMessage } from "./notification.ts";
import { countPools, holdsForPool, poolCondition, poolKey, scopeOf } from "./pool.ts";
import type { PoolCount, PoolCounts } from "./pool.ts";
import { createPoolIncidents, scopeKey, scopeKeyOf } from "./pool-incidents.ts";
import { createPoolScopes } from "./pool-scope.ts";
import type { PoolScope, ObservedScope } from "./pool-scope.ts";
import type { PoolRule } from "./rule.ts";

/** How long a rule's pools of one scope were watched. Milliseconds. */
export interface PoolClock {
  readonly rule: string;
  readonly scope: string;
  readonly ms: number;
}

/** What a poll of one target means for pools, to be committed together with the poll. */
export interface PoolOutcome {
  readonly incidents: IncidentOutcome;
  /** Of scopes with open incidents: only these need their clocks after a restart. */
  readonly clocks: readonly PoolClock[];
}

/** What a poll of a target showed, as far as it concerns pools. */
export interface PoolObservation {
  readonly target: Target;
  readonly at: Instant;
  readonly snapshot: Snapshot;
  /** Whether the poll was accepted and complete. */
  readonly whole: boolean;
}

export interface PoolJudgeOptions {
  /** Whether a receiver exists and wants to hear of this. */
  readonly tells: (receiver: string, type: IncidentMessage) => boolean;
  readonly interventions: Interventions;
  readonly newIncidentId: () => string;
}

export interface PoolVerdict {
  readonly outcome: PoolOutcome;
  /** Takes on what was decided, after it was committed. */
  accept(): void;
}

/** All pools of all rules on pools, over the targets that they draw on. */
export interface PoolWatch {
  /** The open incidents, by `incidentKey`. */
  readonly incidents: ReadonlyMap<string, Incident>;
  /** Whether any rule on pools is about the target. */
  concerns(target: Target): boolean;
  /**
   * Judges the pools that the target adds to. While any target that a pool draws on is down,
   * its incidents neither open nor resolve nor age.
   */
  judge(observation: PoolObservation, options: PoolJudgeOptions): PoolVerdict;
  /** A poll of the target came to nothing: until the next one nobody knows what its pools are in. */
  lose(target: Target): void;
  /** Ends the incidents that no rule owns any more. To be committed and accepted before any poll. */
  retire(atMs: number, options: PoolJudgeOptions): PoolVerdict;
}

export interface PoolWatchOptions {
  readonly rules: readonly PoolRule[];
  readonly targets: readonly Target[];
  /** What an earlier process left behind. */
  readonly openIncidents: readonly Incident[];
  readonly clocks: readonly PoolClock[];
}

function eventOf(rule: PoolRule, pool: PoolCount, seen: ObservedScope): SubjectEvent {
  const holds = holdsForPool(rule, pool);
  if (holds === null) {
    return { kind: "unobserved", passed: { ms: seen.passedMs(poolKey(pool.subject)), polls: 0 } };
  }
  return { kind: holds ? "holds" : "clears", now: { ms: seen.clockMs, polls: 0 } };
}

export function createPoolWatch({ rules, targets, ...restored }: PoolWatchOptions): PoolWatch {
  const clocks = new Map(restored.clocks.map(({ rule, scope, ms }) => [scopeKey(rule, scope), ms]));
  const scopesOf = createPoolScopes(
    rules,
    targets,
    (rule, scope) => clocks.get(scopeKey(rule, scope)) ?? 0,
  );
  const incidents = createPoolIncidents(restored.openIncidents);

  const openEngine = (atMs: number, options: PoolJudgeOptions): IncidentEngine =>
    createIncidentEngine({ target: null, open: incidents.all, flaps: new Map(), atMs, ...options });

  /** Pools that hold no server any more, but have an open incident: it goes on, or ends, with them. */
  const emptied = function* (scope: PoolScope, pools: PoolCounts): Iterable<PoolCount> {
    for (const { subject } of incidents.ofScope(scope.rule.name, scope.name)) {
      if (subject.kind !== "pool") continue;
      const key = poolKey(subject);
      if (!pools.has(key) && !scope.hasServers(key)) yield { subject, servers: noneByStatus };
    }
  };

  const judgeScope = (engine: IncidentEngine, scope: PoolScope, seen: ObservedScope): void => {
    const { rule } = scope;
    for (const pool of [...seen.pools.values(), ...emptied(scope, seen.pools)]) {
      engine.advance(rule, pool.subject, eventOf(rule, pool, seen), {
        status: null,
        previousStatus: null,
        condition: poolCondition(rule, pool),
      });
    }
  };

  return {
    incidents: incidents.all,
    concerns: (target) => scopesOf(target).length > 0,
    judge({ target, at, snapshot, whole }, options) {
      const engine = openEngine(at.utcMs, options);
      const seen = scopesOf(target).map((scope) => {
        const counts = whole ? countPools(scope.rule, target, snapshot) : null;
        const observation = scope.see({ name: targetName(target), atMs: at.monotonicMs, counts });
        if (observation.isObserved) judgeScope(engine, scope, observation);
        return { scope, observation };
      });
      const { outcome } = engine;
      const written = new Set(outcome.written.map(scopeKeyOf));
      const isOpen = ({ rule, name }: PoolScope): boolean =>
        written.has(scopeKey(rule.name, name)) ||
        !Iterator.from(incidents.ofScope(rule.name, name)).next().done;
      return {
        outcome: {
          incidents: outcome,
          clocks: seen
            .filter(({ scope }) => isOpen(scope))
            .map(({ scope, observation }) => ({
              rule: scope.rule.name,
              scope: scope.name,
              ms: observation.clockMs,
            })),
        },
        accept() {
          incidents.takeOn(outcome);
          for (const { observation } of seen) observation.accept();
        },
      };
    },
    lose(target) {
      for (const scope of scopesOf(target)) scope.lose(targetName(target));
    },
    retire(atMs, options) {
      const engine = openEngine(atMs, options);
      const owned = new Set(rules.map(ruleFingerprint));
      for (const incident of incidents.all.values()) {
        if (!owned.has(incident.ruleFingerprint) || !isDrawnOn(incident)) {
          engine.retire(incident, conditionOfIncident(incident));
        }
      }
      const { outcome } = engine;
      return {
        outcome: { incidents: outcome, clocks: [] },
        accept: () => incidents.takeOn(outcome),
      };
    },
  };

  /** Whether any configured target adds to the incident's pool. */
  function isDrawnOn({ rule, subject }: Incident): boolean {
    return targets.some((target) =>
      scopesOf(target).some(
        (scope) =>
          scope.rule.name === rule && subject.kind === "pool" && scopeOf(subject) === scope.name,
      ),
    );
  }
}
