import type { Status, Target } from "../fleet/model.ts";
import type { Snapshot } from "../fleet/snapshot.ts";
import { addTimes, countByStatus, noneByStatus, type CountByStatus } from "../fleet/tallies.ts";
import type { PoolSubject } from "./subjects.ts";
import { matchesAny, matchesTarget, type PoolMeasure, type PoolRule } from "./rule.ts";

export interface PoolCount {
  readonly subject: PoolSubject;
  readonly counts: CountByStatus;
}

/** Pools by `poolKey`. */
export type PoolCounts = ReadonlyMap<string, PoolCount>;

/** Among the pools of one rule. */
export function poolKey(subject: PoolSubject): string {
  const name = subject.kind === "pool" ? subject.serverName : null;
  return JSON.stringify([subject.region, subject.key, name]);
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
  const pools = new Map<string, PoolCount>();
  if (rule.of === "sandboxes") {
    const subject: PoolSubject = { kind: "sandbox_pool", ...placeOf(rule, target) };
    return pools.set(poolKey(subject), { subject, counts: tallies.sandboxes });
  }
  for (const { name, servers } of tallies.names.values()) {
    if (!matchesAny(rule.match.serverName, name)) continue;
    const serverName = rule.by.includes("server_name") ? name : null;
    const subject: PoolSubject = { kind: "pool", ...placeOf(rule, target), serverName };
    const key = poolKey(subject);
    const others = pools.get(key)?.counts ?? noneByStatus;
    pools.set(key, { subject, counts: addTimes(others, servers, 1) });
  }
  return pools;
}

/** Null: it has no value, as no status is known. */
const valueOf: Readonly<Record<PoolMeasure, (counts: CountByStatus) => number | null>> = {
  occupied_ratio: (counts) => ratio(counts.occupied, counts),
  error_ratio: (counts) => ratio(counts.error, counts),
  idle: ({ idle }) => idle,
  servers: countByStatus,
  sandboxes: countByStatus,
};

function ratio(count: number, { idle, occupied, error }: CountByStatus): number | null {
  const known = idle + occupied + error;
  return known === 0 ? null : count / known;
}

const countedBy = { occupied_ratio: "occupied", error_ratio: "error", idle: "idle" } as const;

/** Whether the rule's condition holds. Null: that depends on those whose status is unknown. */
export function holdsForPool(rule: PoolRule, { counts }: PoolCount): boolean | null {
  const { measure, side, limit } = rule;
  const isBeyond = (these: CountByStatus): boolean => {
    const value = valueOf[measure](these);
    return value !== null && (side === "above" ? value > limit : value < limit);
  };
  if (measure === "servers" || measure === "sandboxes") return isBeyond(counts);
  const ifAllAre = (status: Status): CountByStatus => ({
    ...counts,
    unknown: 0,
    [status]: counts[status] + counts.unknown,
  });
  const counted = countedBy[measure];
  const holds = isBeyond(ifAllAre(counted));
  return holds === isBeyond(ifAllAre(counted === "occupied" ? "idle" : "occupied")) ? holds : null;
}

/** The condition in words, as in "servers named github in us over 90% occupied (95%)". */
export function poolCondition({ measure, side, limit }: PoolRule, { counts }: PoolCount): string {
  const value = valueOf[measure](counts);
  if (measure === "idle" || measure === "servers" || measure === "sandboxes") {
    const what = limit === 1 ? measure.replace(/e?s$/, "") : measure;
    return `with ${side === "above" ? "more" : "fewer"} than ${limit} ${what} (${value})`;
  }
  const what = measure === "occupied_ratio" ? "occupied" : "in error";
  const found = value === null ? "none known" : percent(value);
  return `${side === "above" ? "over" : "under"} ${percent(limit)} ${what} (${found})`;
}

/** At most one digit after the point, as a limit of 0.125 needs. */
function percent(share: number): string {
  return `${Math.round(share * 1_000) / 10}%`;
}
