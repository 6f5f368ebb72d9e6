import type { Snapshot } from "../fleet/snapshot.ts";
import { addTimes, noneByStatus } from "../fleet/tallies.ts";
import type { CountByStatus } from "../fleet/tallies.ts";
import type { PoolSubject } from "./incident.ts";
import { matchesAny, matchesTarget } from "./matching.ts";
import type { Status, Target } from "../fleet/model.ts";
import type { PoolRule } from "./rule.ts";

/** A pool and how many of its servers are in each status. */
export interface PoolCount {
  readonly subject: PoolSubject;
  readonly servers: CountByStatus;
}

/** Pools by `poolKey`. */
export type PoolCounts = ReadonlyMap<string, PoolCount>;

export function poolKey({ region, key, serverName }: PoolSubject): string {
  return JSON.stringify([region, key, serverName]);
}

/**
 * The targets that pools draw on, as one text: those alike in what the rule pools by. Its pools can
 * be judged only while each of these is in sight.
 */
export function scopeOf({ region, key }: Pick<PoolSubject, "region" | "key">): string {
  return JSON.stringify([region, key]);
}

/** What of a target its pools are told apart by. */
export function placeOf(
  { by }: PoolRule,
  { region, key }: Target,
): Pick<PoolSubject, "region" | "key"> {
  return {
    region: by.includes("region") ? region : null,
    key: by.includes("key") ? key : null,
  };
}

/** What one target adds to the pools of a rule that is about it. */
export function countPools(rule: PoolRule, target: Target, snapshot: Snapshot): PoolCounts {
  const counts = new Map<string, PoolCount>();
  if (!matchesTarget(rule.match, target)) return counts;
  for (const { name, servers } of snapshot.tallies.names.values()) {
    if (!matchesAny(rule.match.serverName, name)) continue;
    const subject: PoolSubject = {
      kind: "pool",
      ...placeOf(rule, target),
      serverName: rule.by.includes("server_name") ? name : null,
    };
    const key = poolKey(subject);
    counts.set(key, { subject, servers: sumOf(counts.get(key)?.servers, servers) });
  }
  return counts;
}

function sumOf(some: CountByStatus = noneByStatus, more: CountByStatus): CountByStatus {
  return addTimes(some, more, 1);
}

/**
 * Whether the rule's condition holds. Null: that depends on what the servers are in whose status is
 * unknown, so nobody can say.
 */
export function holdsForPool(rule: PoolRule, { servers }: PoolCount): boolean | null {
  const isBeyond = (value: number | null): boolean =>
    value !== null && (rule.side === "above" ? value > rule.limit : value < rule.limit);
  const [least, most] = boundsOf(rule, servers);
  const holds = isBeyond(least);
  return holds === isBeyond(most) ? holds : null;
}

/** What the measure is at least and at most, whatever the servers are in whose status is unknown. */
function boundsOf(
  rule: PoolRule,
  servers: CountByStatus,
): readonly [least: number | null, most: number | null] {
  if (rule.measure === "servers") {
    const value = measurePool(rule, servers);
    return [value, value];
  }
  const counted = countedBy[rule.measure];
  const other = counted === "occupied" ? "idle" : "occupied";
  const ifAllAre = (status: Status): number | null =>
    measurePool(rule, {
      ...servers,
      unknown: 0,
      [status]: servers[status] + servers.unknown,
    });
  return [ifAllAre(other), ifAllAre(counted)];
}

/** The status of which a measure counts the servers. */
const countedBy = { occupied_ratio: "occupied", error_ratio: "error", idle: "idle" } as const;

/** The condition in words, as in "servers named github in us over 90% occupied (95%)". */
export function poolCondition(rule: PoolRule, { servers }: PoolCount): string {
  const value = measurePool(rule, servers);
  const { limit, side } = rule;
  const ratio = `${side === "above" ? "over" : "under"} ${percent(limit)}`;
  const count = `with ${side === "above" ? "more" : "fewer"} than ${limit}`;
  switch (rule.measure) {
    case "occupied_ratio":
      return `${ratio} occupied (${value === null ? "none known" : percent(value)})`;
    case "error_ratio":
      return `${ratio} in error (${value === null ? "none known" : percent(value)})`;
    case "idle":
      return `${count} idle (${value})`;
    case "servers":
      return `${count} servers (${value})`;
  }
}

function measurePool({ measure }: PoolRule, servers: CountByStatus): number | null {
  const known = servers.idle + servers.occupied + servers.error;
  switch (measure) {
    case "occupied_ratio":
      return known === 0 ? null : servers.occupied / known;
    case "error_ratio":
      return known === 0 ? null : servers.error / known;
    case "idle":
      return servers.idle;
    case "servers":
      return known + servers.unknown;
  }
}

/** At most one digit behind the point, as a limit of 0.125 needs. */
function percent(ratio: number): string {
  return `${Math.round(ratio * 1_000) / 10}%`;
}
