import { poolScopes, type PoolScope } from "../alerts/pool.ts";
import type { Rule } from "../alerts/rule.ts";
import type { Target } from "../fleet/model.ts";

interface Key {
  readonly name: string;
  readonly regions: readonly string[];
}

/** Every key in each of its regions. */
export function configuredTargets({ keys }: { readonly keys: readonly Key[] }): readonly Target[] {
  return keys.flatMap(({ name, regions }) => regions.map((region) => ({ region, key: name })));
}

/**
 * The pools of which several replicas may poll targets, as all targets of a key are polled by one replica. The rule
 * decides, not how many keys there are: with another number of them, the pools still have the same owner.
 */
export function poolsAcrossKeys({
  keys,
  alerts,
}: {
  readonly keys: readonly Key[];
  readonly alerts: { readonly rules: readonly Rule[] };
}): readonly PoolScope[] {
  const rules = alerts.rules.filter((rule) => rule.on === "pool");
  const acrossKeys = rules.filter(({ by }) => !by.includes("key"));
  return poolScopes(acrossKeys, configuredTargets({ keys }));
}
