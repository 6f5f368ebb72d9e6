import type { AlertOptions, IncidentOutcome } from "../alerts/incident-engine.ts";
import type { Incident } from "../alerts/incident.ts";
import {
  judgePools,
  retirePools,
  type ObservedPools,
  type PoolClock,
  type PoolOutcome,
} from "../alerts/judge-pools.ts";
import { holdIncidents, keyOfIncident } from "../alerts/target-state.ts";
import {
  countPools,
  placeOf,
  poolKey,
  poolScopes,
  scopeName,
  type PoolCount,
  type PoolCounts,
} from "../alerts/pool.ts";
import type { PoolRule } from "../alerts/rule.ts";
import { isPool } from "../alerts/subjects.ts";
import { targetName, type Instant, type Target } from "../fleet/model.ts";
import type { Snapshot } from "../fleet/snapshot.ts";
import { addTimes, countByStatus, noneByStatus } from "../fleet/tallies.ts";
import type { JudgeOptions } from "../alerts/judge.ts";
import type { CurrentSuppressions } from "../alerts/silence.ts";
import type { Clock } from "../lib/clock.ts";
import type { Logger } from "../lib/logger.ts";
import type { Store } from "../store/store.ts";
import type { CommitLoop } from "./commit-loop.ts";

/** What a poll of a target showed. `whole`: it was accepted and complete. */
export interface PoolObservation {
  readonly target: Target;
  readonly at: Instant;
  readonly snapshot: Snapshot;
  readonly whole: boolean;
}

/** What a poll means for each scope that its target is in. */
interface PoolPoll extends Pick<PoolObservation, "target" | "at"> {
  readonly scopes: readonly { readonly scope: WatchedScope; readonly poll: ScopePoll }[];
}

export interface PoolVerdict extends Pick<PoolPoll, "scopes"> {
  readonly outcome: PoolOutcome;
}

interface WatchPoolsOptions {
  readonly rules: readonly PoolRule[];
  readonly targets: readonly Target[];
  readonly openIncidents: readonly Incident[];
  readonly clocks: readonly PoolClock[];
}

export type WatchedPools = ReturnType<typeof watchPools>;

/** All pools of all rules on pools, over the targets whose servers they contain. */
export function watchPools({ rules, targets, openIncidents, clocks }: WatchPoolsOptions) {
  const clockMs = new Map(clocks.map((clock) => [scopeName(clock.rule, clock), clock.ms]));
  const scopes = new Map<string, WatchedScope>();
  const scopesOf = new Map<string, WatchedScope[]>();
  for (const { name, rule, targets: members } of poolScopes(rules, targets)) {
    const scope = new WatchedScope(name, rule, members, clockMs.get(name) ?? 0);
    scopes.set(name, scope);
    for (const member of scope.unobserved) {
      scopesOf.set(member, [...(scopesOf.get(member) ?? []), scope]);
    }
  }
  const scopesWith = (target: Target): readonly WatchedScope[] =>
    scopesOf.get(targetName(target)) ?? [];
  const scopeWith = ({ rule, subject }: Incident): WatchedScope | undefined =>
    isPool(subject) ? scopes.get(scopeName(rule, subject)) : undefined;
  const isWatched = (incident: Incident): boolean => scopeWith(incident) !== undefined;
  const held = holdIncidents(openIncidents.filter(isWatched));

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

    /** Whether the target adds to any pool. */
    isPooled: (target: Target): boolean => scopesWith(target).length > 0,

    /** Takes what a poll showed. What it means is to be accepted once it is committed, or else the target is lost. */
    observe({ target, at, snapshot, whole }: PoolObservation): PoolPoll {
      const observeIn = (scope: WatchedScope) => {
        const counts = whole ? countPools(scope.rule, target, snapshot) : null;
        return { scope, poll: scope.observe(targetName(target), at.monotonicMs, counts) };
      };
      return { target, at, scopes: scopesWith(target).map(observeIn) };
    },

    /**
     * Judges the pools that a target adds to, over what a poll of it and those before showed. While any target of a pool is
     * down, its incidents neither open nor resolve nor age.
     */
    judge({ target, at, scopes: polls }: PoolPoll, options: AlertOptions): PoolVerdict {
      const observed = polls.map(({ scope, poll }) => scope.observed(poll));
      const incidents = judgePools(observed, held, at.utcMs, options);
      const changed = new Set(incidents.written.map(scopeWith));
      const isOpen = (scope: WatchedScope) => changed.has(scope) || scope.incidents.size > 0;
      return {
        outcome: {
          incidents,
          clocks: polls.flatMap(({ scope, poll: { clockMs: ms } }) =>
            isOpen(scope) ? [{ rule: scope.rule.name, ...placeOf(scope.rule, target), ms }] : [],
          ),
        },
        scopes: polls,
      };
    },

    /** What was decided is committed. */
    accept({ outcome, scopes: polls }: PoolVerdict): void {
      apply(outcome.incidents);
      for (const { scope, poll } of polls) scope.accept(poll);
    },

    /** A poll of the target was not stored: until the next one the state of its pools is unknown. */
    lose(target: Target): void {
      for (const scope of scopesWith(target)) scope.lose(targetName(target));
    },

    /** Ends the incidents that no rule owns any more. To be accepted before any poll. */
    retire(atMs: number, options: AlertOptions): PoolVerdict {
      const incidents = retirePools(rules, held, isWatched, atMs, options);
      return { outcome: { incidents, clocks: [] }, scopes: [] };
    },

    /** Ends the incidents of pools that are not among these. */
    retireOthers(atMs: number, options: AlertOptions): IncidentOutcome {
      const others = openIncidents.filter((incident) => !isWatched(incident));
      return retirePools(rules, holdIncidents(others), isWatched, atMs, options);
    },
  };
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
class WatchedScope {
  readonly name: string;
  readonly rule: PoolRule;
  readonly incidents = new Map<string, Incident>();
  /** The targets whose latest poll did not show them as a whole. */
  readonly unobserved: Set<string>;
  /** What each target adds, also by a poll that is judged: if that cannot be stored, the target is lost. */
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

  constructor(name: string, rule: PoolRule, targets: readonly Target[], restoredMs: number) {
    this.name = name;
    this.rule = rule;
    this.unobserved = new Set(targets.map(targetName));
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

  /** What is judged after a poll. */
  observed({ pools, clockMs }: ScopePoll): ObservedPools {
    const judged = Array.from(pools, ([key, pool]) => {
      return { pool, judgedAtMs: this.judgedAtMs.get(key) ?? this.restoredMs };
    });
    return { rule: this.rule, clockMs, pools: judged };
  }

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
      const total = this.totals.get(key)?.counts ?? noneByStatus;
      const without = addTimes(total, before.get(key)?.counts ?? noneByStatus, -1);
      const counts = addTimes(without, after.get(key)?.counts ?? noneByStatus, 1);
      const pool = { subject, counts };
      changed.set(key, pool);
      if (countByStatus(counts) === 0) this.totals.delete(key);
      else this.totals.set(key, pool);
    }
    this.added.set(target, after);
    this.unobserved.delete(target);
    return changed;
  }

  /** Pools that contain nothing any more, but have an open incident: it goes on, or ends, with them. */
  private *emptied(): Iterable<readonly [key: string, pool: PoolCount]> {
    for (const { subject } of this.incidents.values()) {
      if (!isPool(subject)) continue;
      const key = poolKey(subject);
      if (!this.totals.has(key)) yield [key, { subject, counts: noneByStatus }];
    }
  }
}

export interface PoolWatchDeps {
  readonly pools: WatchedPools;
  readonly store: Pick<Store, "commitPools">;
  readonly judge: Omit<JudgeOptions, "suppressions">;
  readonly suppressions: CurrentSuppressions;
  readonly commits: Pick<CommitLoop, "commit" | "publish">;
  readonly clock: Clock;
  readonly log: Logger;
}

export type PoolWatch = ReturnType<typeof createPoolWatch>;

/** Judges pools over polls that were committed, one after the other. */
export function createPoolWatch(deps: PoolWatchDeps) {
  const { pools, store, commits, judge, suppressions, clock, log } = deps;
  let last: Promise<unknown> = Promise.resolve();

  const judgeNow = async (id: number, observation: PoolObservation): Promise<void> => {
    try {
      const poll = pools.observe(observation);
      const judged = await commits.commit(async () => {
        const options = { ...judge, suppressions: suppressions.at(clock.now().utcMs) };
        const decided = pools.judge(poll, options);
        await store.commitPools(id, decided.outcome);
        return decided;
      });
      pools.accept(judged);
      const { incidents } = judged.outcome;
      await commits.publish({ target: null, incidents, atMs: observation.at.utcMs });
    } catch (err) {
      const { target } = observation;
      pools.lose(target);
      log.error(
        { event: "pool.failed", ...target, err },
        `what a poll of ${targetName(target)} means for its pools could not be stored; the next one decides it again`,
      );
    }
  };

  return {
    isPooled: pools.isPooled,
    /** Never rejects. */
    async judge(targetId: number, observation: PoolObservation): Promise<void> {
      const judging = last.then(() => judgeNow(targetId, observation));
      last = judging;
      await judging;
    },
    /** A poll of the target was not stored, or is missing. */
    lose: (target: Target): void => pools.lose(target),
  };
}
