import { matchesTarget } from "./matching.ts";
import { statuses, targetName } from "./model.ts";
import type { Target } from "./model.ts";
import { placeOf, scopeOf } from "./pool.ts";
import type { PoolCount, PoolCounts } from "./pool.ts";
import type { PoolRule } from "./rule.ts";
import { noneByStatus } from "./snapshot/tallies.ts";

/** The pools of a rule that draw on the same targets, and so are in sight or not together. */
export interface PoolScope {
  readonly rule: PoolRule;
  /** See `scopeOf`. */
  readonly name: string;
  /** What a poll of one of its targets means. Nothing changes until it is accepted. */
  see(poll: ScopePoll): SeenScope;
}

export interface ScopePoll {
  /** The target's. */
  readonly name: string;
  /** When it ended. Monotonic milliseconds. */
  readonly atMs: number;
  /** What the target adds to the pools; null: the poll failed, or was not complete. */
  readonly counts: PoolCounts | null;
}

export interface SeenScope {
  /** Whether every target was seen whole by its latest poll. */
  readonly inSight: boolean;
  /** For how long the scope was in sight. Milliseconds; it goes on after a restart. */
  readonly clockMs: number;
  /** Whether it came into sight by this poll. */
  readonly returned: boolean;
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

  return {
    rule,
    name,
    see({ name: target, atMs, counts }) {
      const wasInSight = hidden.size === 0;
      const inSight = counts !== null && (wasInSight || (hidden.size === 1 && hidden.has(target)));
      const passedMs = inSight && lastAtMs !== null ? atMs - lastAtMs : 0;
      const nowMs = clockMs + Math.max(0, passedMs);
      const before: PoolCounts = added.get(target) ?? new Map();
      const changed = counts === null ? new Map() : withDifference(totals, before, counts);
      return {
        inSight,
        clockMs: nowMs,
        returned: inSight && !wasInSight,
        // What the others showed while one was out of sight was not judged yet.
        pools: wasInSight ? changed : new Map([...totals, ...changed]),
        accept() {
          clockMs = nowMs;
          lastAtMs = inSight ? Math.max(atMs, lastAtMs ?? atMs) : null;
          if (counts === null) {
            hidden.add(target);
            return;
          }
          hidden.delete(target);
          // Of others' polls more may have been accepted since.
          for (const [key, pool] of withDifference(
            totals,
            added.get(target) ?? new Map(),
            counts,
          )) {
            totals.set(key, pool);
          }
          added.set(target, counts);
        },
      };
    },
  };
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
    const servers = { ...(totals.get(key)?.servers ?? noneByStatus()) };
    for (const status of statuses) {
      servers[status] +=
        (after.get(key)?.servers[status] ?? 0) - (before.get(key)?.servers[status] ?? 0);
    }
    changed.set(key, { subject: pool.subject, servers });
  }
  return changed;
}
