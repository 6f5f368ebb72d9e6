import { targetName, type Instant, type Target } from "../fleet/model.ts";
import type { Snapshot } from "../fleet/snapshot.ts";
import { addTimes, countByStatus, noneByStatus } from "../fleet/tallies.ts";
import { createIncidentEngine } from "./incident-engine.ts";
import type { AlertOptions, IncidentEngine, IncidentOutcome } from "./incident-engine.ts";
import type { SubjectEvent } from "./incident-phase.ts";
import type { Incident, PoolSubject } from "./incident.ts";
import { holdIncidents, keyOfIncident } from "./open-incidents.ts";
import { countPools, holdsForPool, placeOf, poolCondition, poolKey } from "./pool.ts";
import type { PoolCount, PoolCounts } from "./pool.ts";
import { matchesTarget, type PoolRule } from "./rule.ts";

/** For how long a rule's pools of one scope were observed. Milliseconds. */
export interface PoolClock {
  readonly rule: string;
  readonly scope: string;
  readonly ms: number;
}

export interface PoolOutcome {
  readonly incidents: IncidentOutcome;
  /** Clocks of scopes with open incidents; only these are needed after a restart. */
  readonly clocks: readonly PoolClock[];
}

/** What a poll of a target showed. `whole`: it was accepted and complete. */
interface PoolObservation {
  readonly target: Target;
  readonly at: Instant;
  readonly snapshot: Snapshot;
  readonly whole: boolean;
}

export interface PoolVerdict {
  readonly outcome: PoolOutcome;
  /** What the poll means for each scope that the target is in. */
  readonly polls: readonly { readonly scope: PoolScope; readonly poll: ScopePoll }[];
}

interface PoolWatchOptions {
  readonly rules: readonly PoolRule[];
  readonly targets: readonly Target[];
  readonly openIncidents: readonly Incident[];
  readonly clocks: readonly PoolClock[];
}

export type PoolWatch = ReturnType<typeof createPoolWatch>;

/** All pools of all rules on pools, over the targets whose servers they contain. */
export function createPoolWatch({ rules, targets, openIncidents, clocks }: PoolWatchOptions) {
  const held = holdIncidents(openIncidents);
  const clockMs = new Map(clocks.map(({ rule, scope, ms }) => [scopeKey(rule, scope), ms]));
  const scopes = new Map<string, PoolScope>();
  const scopesOf = new Map<string, PoolScope[]>();
  for (const rule of rules) {
    const about = targets.filter((target) => matchesTarget(rule.match, target));
    for (const [name, members] of Map.groupBy(about, (target) => scopeOf(placeOf(rule, target)))) {
      const key = scopeKey(rule.name, name);
      const scope = new PoolScope(rule, name, members.map(targetName), clockMs.get(key) ?? 0);
      scopes.set(key, scope);
      for (const member of scope.unobserved) {
        scopesOf.set(member, [...(scopesOf.get(member) ?? []), scope]);
      }
    }
  }
  const scopesWith = (target: Target): readonly PoolScope[] =>
    scopesOf.get(targetName(target)) ?? [];
  const scopeWith = ({ rule, subject }: Incident): PoolScope | undefined =>
    subject.kind === "pool" ? scopes.get(scopeKey(rule, scopeOf(subject))) : undefined;

  /** Every poll needs those of its scopes, and there may be very many others. */
  const apply = (outcome: IncidentOutcome): void => {
    held.apply(outcome);
    for (const incident of [...outcome.written, ...outcome.dropped]) {
      const key = keyOfIncident(incident);
      const open = held.incidents.get(key);
      if (open) scopeWith(open)?.incidents.set(key, open);
      else scopeWith(incident)?.incidents.delete(key);
    }
  };
  for (const incident of openIncidents) {
    scopeWith(incident)?.incidents.set(keyOfIncident(incident), incident);
  }

  return {
    incidents: held.incidents,

    /** Polls that have one of these in common concern the same pools. */
    scopesOf: (target: Target): readonly string[] =>
      scopesWith(target).map(({ rule, name }) => scopeKey(rule.name, name)),

    /**
     * Judges the pools that the target adds to, over what this poll and those before it showed. While any target of a pool
     * is down, its incidents neither open nor resolve nor age. To be accepted once it is committed, or else lost.
     */
    judge({ target, at, snapshot, whole }: PoolObservation, options: AlertOptions): PoolVerdict {
      const engine = createIncidentEngine(held, at.utcMs, options);
      const polls = scopesWith(target).map((scope) => {
        const counts = whole ? countPools(scope.rule, target, snapshot) : null;
        const poll = scope.observe(targetName(target), at.monotonicMs, counts);
        if (poll.isObserved) scope.judge(engine, poll);
        return { scope, poll };
      });
      const { outcome: incidents } = engine;
      const changed = new Set(incidents.written.map(scopeWith));
      const isOpen = (scope: PoolScope) => changed.has(scope) || scope.incidents.size > 0;
      return {
        outcome: {
          incidents,
          clocks: polls.flatMap(({ scope, poll: { clockMs: ms } }) =>
            isOpen(scope) ? [{ rule: scope.rule.name, scope: scope.name, ms }] : [],
          ),
        },
        polls,
      };
    },

    /** What was decided is committed. */
    accept({ outcome, polls }: PoolVerdict): void {
      apply(outcome.incidents);
      for (const { scope, poll } of polls) scope.accept(poll);
    },

    /** A poll of the target was not stored: until the next one the state of its pools is unknown. */
    lose(target: Target): void {
      for (const scope of scopesWith(target)) scope.lose(targetName(target));
    },

    /** Ends the incidents that no rule or target owns any more. To be accepted before any poll. */
    retire(atMs: number, options: AlertOptions): PoolVerdict {
      const engine = createIncidentEngine(held, atMs, options);
      engine.retireUnowned(rules, (incident) => scopeWith(incident) !== undefined);
      const { outcome: incidents } = engine;
      return { outcome: { incidents, clocks: [] }, polls: [] };
    },
  };
}

/** The targets of a pool, as one text: those that are alike in what the rule pools by. */
function scopeOf({ region, key }: Pick<PoolSubject, "region" | "key">): string {
  return JSON.stringify([region, key]);
}

function scopeKey(rule: string, scope: string): string {
  return JSON.stringify([rule, scope]);
}

/** What a poll of one target of a scope means. */
interface ScopePoll {
  /** When it ended. Monotonic milliseconds. */
  readonly atMs: number;
  /** Whether every target was observed as a whole by its latest poll. */
  readonly isObserved: boolean;
  /** For how long the scope was observed. Milliseconds; it goes on after a restart. */
  readonly clockMs: number;
  /** The pools that may have changed since they were last judged. */
  readonly pools: PoolCounts;
}

/** The pools of a rule that contain servers of the same targets, and so are observed together. */
class PoolScope {
  readonly rule: PoolRule;
  readonly name: string;
  readonly incidents = new Map<string, Incident>();
  /** The targets whose latest poll did not show them as a whole. */
  readonly unobserved: Set<string>;
  /** What each target adds, also by a poll whose commit is under way: if that fails, the target is lost. */
  private readonly added = new Map<string, PoolCounts>();
  private readonly totals = new Map<string, PoolCount>();
  private clockMs: number;
  private readonly restoredMs: number;
  /** When the scope was last observed. Monotonic milliseconds; null: it is not. */
  private lastAtMs: number | null = null;
  /** Whether all pools were judged since the scope is observed. */
  private isJudged = false;
  /** Readings of the scope's clock when pools were last judged, by `poolKey`. */
  private readonly judgedAtMs = new Map<string, number>();

  constructor(rule: PoolRule, name: string, targets: readonly string[], restoredMs: number) {
    this.rule = rule;
    this.name = name;
    this.unobserved = new Set(targets);
    this.clockMs = restoredMs;
    this.restoredMs = restoredMs;
  }

  lose(target: string): void {
    this.unobserved.add(target);
    this.lastAtMs = null;
    this.isJudged = false;
  }

  /** @param counts null: the poll failed, or was not complete */
  observe(target: string, atMs: number, counts: PoolCounts | null): ScopePoll {
    const changed = counts && this.replace(target, counts);
    if (changed === null) this.lose(target);
    const isObserved = this.unobserved.size === 0;
    const passedMs = isObserved && this.lastAtMs !== null ? Math.max(0, atMs - this.lastAtMs) : 0;
    // Counts of other targets that arrived while one was unobserved have not been judged yet.
    const observed =
      (this.isJudged ? changed : null) ?? new Map([...this.totals, ...(changed ?? [])]);
    const pools = isObserved ? new Map([...observed, ...this.emptied()]) : new Map();
    return { atMs, isObserved, clockMs: this.clockMs + passedMs, pools };
  }

  judge(engine: IncidentEngine, { pools, clockMs }: ScopePoll): void {
    for (const [key, pool] of pools) {
      const holds = holdsForPool(this.rule, pool);
      const judgedMs = this.judgedAtMs.get(key) ?? this.restoredMs;
      const event: SubjectEvent =
        holds === null
          ? { kind: "unobserved", passed: { ms: clockMs - judgedMs, polls: 0 } }
          : { kind: holds ? "holds" : "clears", now: { ms: clockMs, polls: 0 } };
      const condition = poolCondition(this.rule, pool);
      engine.advance(this.rule, pool.subject, event, { condition });
    }
  }

  /** Commits may end in another order than their polls. */
  accept({ atMs, isObserved, clockMs, pools }: ScopePoll): void {
    this.clockMs = Math.max(this.clockMs, clockMs);
    for (const key of pools.keys()) this.judgedAtMs.set(key, this.clockMs);
    if (!isObserved || this.unobserved.size > 0) return;
    this.lastAtMs = Math.max(atMs, this.lastAtMs ?? atMs);
    this.isJudged = true;
  }

  /** Gives the new totals of all pools that the target adds to, or did before. */
  private replace(target: string, after: PoolCounts): PoolCounts {
    const before: PoolCounts = this.added.get(target) ?? new Map();
    const changed = new Map<string, PoolCount>();
    for (const [key, { subject }] of [...before, ...after]) {
      if (changed.has(key)) continue;
      const total = this.totals.get(key)?.servers ?? noneByStatus;
      const without = addTimes(total, before.get(key)?.servers ?? noneByStatus, -1);
      const servers = addTimes(without, after.get(key)?.servers ?? noneByStatus, 1);
      const pool = { subject, servers };
      changed.set(key, pool);
      if (countByStatus(servers) === 0) this.totals.delete(key);
      else this.totals.set(key, pool);
    }
    this.added.set(target, after);
    this.unobserved.delete(target);
    return changed;
  }

  /** Pools that contain no server any more, but have an open incident: it goes on, or ends, with them. */
  private *emptied(): Iterable<readonly [key: string, pool: PoolCount]> {
    for (const { subject } of this.incidents.values()) {
      if (subject.kind !== "pool") continue;
      const key = poolKey(subject);
      if (!this.totals.has(key)) yield [key, { subject, servers: noneByStatus }];
    }
  }
}
