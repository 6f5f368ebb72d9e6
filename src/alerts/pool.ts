import type { Status, Target } from "../fleet/model.ts";
import type { Snapshot } from "../fleet/snapshot.ts";
import { addTimes, noneByStatus, type CountByStatus } from "../fleet/tallies.ts";
import type { PoolSubject } from "./subjects.ts";
import { matchesAny, matchesTarget, type PoolMeasure, type PoolRule } from "./rule.ts";

export interface PoolCount {
  readonly subject: PoolSubject;
  readonly servers: CountByStatus;
}

/** Pools by `poolKey`. */
export type PoolCounts = ReadonlyMap<string, PoolCount>;

export function poolKey({ region, key, serverName }: PoolSubject): string {
  return JSON.stringify([region, key, serverName]);
}

/** What of a target its pools are distinguished by. */
export function placeOf({ by }: PoolRule, target: Target): Pick<PoolSubject, "region" | "key"> {
  return {
    region: by.includes("region") ? target.region : null,
    key: by.includes("key") ? target.key : null,
  };
}

/** The targets of a rule that are alike in what it pools by. Their pools are observed together. */
export interface PoolScope {
  readonly name: string;
  readonly rule: PoolRule;
  readonly targets: readonly Target[];
}

/** Names of rules, regions and keys have no slash. */
export function scopeName(
  rule: string,
  { region, key }: Pick<PoolSubject, "region" | "key">,
): string {
  return `${rule}/${region ?? "*"}/${key ?? "*"}`;
}

export function poolScopes(
  rules: readonly PoolRule[],
  targets: readonly Target[],
): readonly PoolScope[] {
  return rules.flatMap((rule) => {
    const about = targets.filter((target) => matchesTarget(rule.match, target));
    const nameOf = (target: Target): string => scopeName(rule.name, placeOf(rule, target));
    return Array.from(Map.groupBy(about, nameOf), ([name, members]): PoolScope => {
      return { name, rule, targets: members };
    });
  });
}

export function countPools(rule: PoolRule, target: Target, { tallies }: Snapshot): PoolCounts {
  const counts = new Map<string, PoolCount>();
  for (const { name, servers } of tallies.names.values()) {
    if (!matchesAny(rule.match.serverName, name)) continue;
    const serverName = rule.by.includes("server_name") ? name : null;
    const subject: PoolSubject = { kind: "pool", ...placeOf(rule, target), serverName };
    const key = poolKey(subject);
    const others = counts.get(key)?.servers ?? noneByStatus;
    counts.set(key, { subject, servers: addTimes(others, servers, 1) });
  }
  return counts;
}

/** Null: it has no value, as no server's status is known. */
const valueOf: Readonly<Record<PoolMeasure, (servers: CountByStatus) => number | null>> = {
  occupied_ratio: (servers) => ratio(servers.occupied, servers),
  error_ratio: (servers) => ratio(servers.error, servers),
  idle: ({ idle }) => idle,
  servers: ({ idle, occupied, error, unknown }) => idle + occupied + error + unknown,
};

function ratio(count: number, { idle, occupied, error }: CountByStatus): number | null {
  const known = idle + occupied + error;
  return known === 0 ? null : count / known;
}

const countedBy = { occupied_ratio: "occupied", error_ratio: "error", idle: "idle" } as const;

/** Whether the rule's condition holds. Null: that depends on the servers whose status is unknown. */
export function holdsForPool(rule: PoolRule, { servers }: PoolCount): boolean | null {
  const { measure, side, limit } = rule;
  const isBeyond = (counts: CountByStatus): boolean => {
    const value = valueOf[measure](counts);
    return value !== null && (side === "above" ? value > limit : value < limit);
  };
  if (measure === "servers") return isBeyond(servers);
  const ifAllAre = (status: Status): CountByStatus => ({
    ...servers,
    unknown: 0,
    [status]: servers[status] + servers.unknown,
  });
  const counted = countedBy[measure];
  const holds = isBeyond(ifAllAre(counted));
  return holds === isBeyond(ifAllAre(counted === "occupied" ? "idle" : "occupied")) ? holds : null;
}

/** The condition in words, as in "servers named github in us over 90% occupied (95%)". */
export function poolCondition({ measure, side, limit }: PoolRule, { servers }: PoolCount): string {
  const value = valueOf[measure](servers);
  if (measure === "idle" || measure === "servers") {
    return `with ${side === "above" ? "more" : "fewer"} than ${limit} ${measure} (${value})`;
  }
  const what = measure === "occupied_ratio" ? "occupied" : "in error";
  const found = value === null ? "none known" : percent(value);
  return `${side === "above" ? "over" : "under"} ${percent(limit)} ${what} (${found})`;
}

/** At most one digit after the point, as a limit of 0.125 needs. */
function percent(share: number): string {
  return `${Math.round(share * 1_000) / 10}%`;
}
