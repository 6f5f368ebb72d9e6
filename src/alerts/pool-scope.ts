import { noneByStatus } from "../fleet/tallies.ts";
import { matchesTarget } from "./matching.ts";
import { statuses, targetName } from "../fleet/model.ts";
import type { Target } from "../fleet/model.ts";
import { placeOf, scopeOf } from "./pool.ts";
import type { PoolCount, PoolCounts } from "./pool.ts";
import type { PoolRule } from "./rule.ts";

/** The pools of a rule that draw on the same targets, and so are in sight or not together. */
export interface PoolScope {
  readonly rule: PoolRule;
  /** See `scopeOf`. */
  readonly name: string;
  /** What a poll of one of its targets means. Nothing changes until it is accepted. */
  see(poll: ScopePoll): ObservedScope;
  /** One of its targets is out of sight from now on. */
  lose(target: string): void;
  /** Whether a pool, by `poolKey`, held servers when it was last seen. */
  hasServers(pool: string): boolean;
}

export interface ScopePoll {
  /** The target's. */
  readonly name: string;
  /** When it ended. Monotonic milliseconds. */
  readonly atMs: number;
  /** What the target adds to the pools; null: the poll failed, or was not complete. */
  readonly counts: PoolCounts | null;
}

export interface ObservedScope {
  /** Whether every target was seen whole by its latest poll. */
  readonly isObserved: boolean;
  /** For how long the scope was in sight. Milliseconds; it goes on after a restart. */
  readonly clockMs: number;
  /** What of it passed since a pool, by `poolKey`, was last judged. Milliseconds. */
  passedMs(pool: string): number;
  /** Pools as they are now that may not be as they were when they were last judged, by `poolKey`. */
  readonly pools: PoolCounts;
  accept(): void;
}

/** Gives the scopes that a target belongs to, one for each rule that is about it. */
export function createPoolScopes(
  rules: readonly PoolRule[],
  targets: readonly Target[],
  clockMs: (rule: string, scope: string) => number,
): (target: Target) => readonly PoolScope[] {
  const scopesByTarget = new Map<string, PoolScope[]>();
  for (const rule of rules) {
    const about = targets.filter((target) => matchesTarget(rule.match, target));
    for (const [name, members] of Map.groupBy(about, (target) => scopeOf(placeOf(rule, target)))) {
      const names = members.map(targetName);
      const scope = createScope(rule, name, names, clockMs(rule.name, name));
      for (const each of names) {
        scopesByTarget.set(each, [...(scopesByTarget.get(each) ?? []), scope]);
      }
    }
  }
  return (target) => scopesByTarget.get(targetName(target)) ?? [];
}

function createScope(
  rule: PoolRule,
  name: string,
  members: readonly string[],
  restoredMs: number,
): PoolScope {
  const hidden = new Set(members);
  const added = new Map<string, PoolCounts>();
  const totals = new Map<string, PoolCount>();
  let clockMs = restoredMs;
  /** When the scope was last seen; null: it is not in sight. */
  let lastAtMs: number | null = null;
  /** Whether all pools were judged since the scope came into sight. */
  let isJudged = false;
  /** Readings of the scope's clock when pools were last judged, by `poolKey`. */
  const judgedAtMs = new Map<string, number>();

  const lose = (target: string): void => {
    hidden.add(target);
    lastAtMs = null;
    isJudged = false;
  };

  return {
    rule,
    name,
    lose,
    hasServers: (pool) => totals.has(pool),
    see({ name: target, atMs, counts }) {
      const isObserved = counts !== null && (hidden.size === 0 || isOnly(hidden, target));
      const passedMs = isObserved && lastAtMs !== null ? atMs - lastAtMs : 0;
      const nowMs = clockMs + Math.max(0, passedMs);
      const before: PoolCounts = added.get(target) ?? new Map();
      const changed: PoolCounts =
        counts === null ? new Map() : withDifference(totals, before, counts);
      // What the others showed while one was out of sight was not judged yet.
      const pools = isJudged ? changed : new Map([...totals, ...changed]);
      return {
        isObserved,
        clockMs: nowMs,
        pools,
        // A pool that held no server was judged at every poll of the scope.
        passedMs: (pool) =>
          nowMs - (totals.has(pool) ? (judgedAtMs.get(pool) ?? restoredMs) : clockMs),
        // Of others' polls more may have been accepted since: what they changed stands.
        accept() {
          clockMs = Math.max(clockMs, nowMs);
          if (isObserved) for (const key of pools.keys()) judgedAtMs.set(key, clockMs);
          if (counts === null) return lose(target);
          hidden.delete(target);
          const part = added.get(target) ?? new Map<string, PoolCount>();
          for (const [key, pool] of withDifference(totals, part, counts)) {
            if (isEmpty(pool)) totals.delete(key);
            else totals.set(key, pool);
          }
          added.set(target, counts);
          if (hidden.size > 0) return;
          lastAtMs = Math.max(atMs, lastAtMs ?? atMs);
          isJudged ||= isObserved;
        },
      };
    },
  };
}

function isOnly(names: ReadonlySet<string>, name: string): boolean {
  return names.size === 1 && names.has(name);
}

function isEmpty({ servers }: PoolCount): boolean {
  return statuses.every((status) => servers[status] === 0);
}

/** The totals that one target's part changes, with that part replaced. */
function withDifference(
  totals: PoolCounts,
  before: PoolCounts,
  after: PoolCounts,
): ReadonlyMap<string, PoolCount> {
  const changed = new Map<string, PoolCount>();
  for (const [key, pool] of [...before, ...after]) {
    if (changed.has(key)) continue;
    const servers = { ...(totals.get(key)?.servers ?? noneByStatus) };
    for (const status of statuses) {
      servers[status] +=
        (after.get(key)?.servers[status] ?? 0) - (before.get(key)?.servers[status] ?? 0);
    }
    changed.set(key, { subject: pool.subject, servers });
  }
  return changed;
}
