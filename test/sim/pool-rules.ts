import type { Dice } from "./support/dice.ts";

export const poolFields = ["region", "key", "server_name"] as const;
export type PoolField = (typeof poolFields)[number];

export const poolMeasures = ["occupied_ratio", "error_ratio", "idle", "servers"] as const;
export type PoolMeasure = (typeof poolMeasures)[number];

/** A condition on servers taken together. */
export interface ScenarioPoolRule {
  readonly on: "pool";
  readonly name: string;
  /** Servers alike in all of these are one pool. */
  readonly by: readonly PoolField[];
  readonly measure: PoolMeasure;
  /** It holds on this side of the limit, and not at the limit. */
  readonly side: "above" | "below";
  readonly limit: number;
  readonly hold: { readonly ms: number };
  readonly keepFiringMs: number;
  readonly remindEveryMs: number | null;
  readonly receivers: readonly string[];
}

const minute = 60_000;

/** Some worlds have rules on pools. */
export function drawPoolRules(
  dice: Dice,
  intervalMs: number,
  receivers: readonly { readonly name: string }[],
): readonly ScenarioPoolRule[] {
  const names = dice.pick([[], [], ["pool-first"], ["pool-first", "pool-second"]]);
  return names.map((name) => {
    const measure = dice.pick(poolMeasures);
    const side = dice.pick(["above", "below"] as const);
    const isRatio = measure === "occupied_ratio" || measure === "error_ratio";
    const told = receivers.filter(() => dice.chance(0.7)).map((receiver) => receiver.name);
    return {
      on: "pool",
      name,
      by: dice.pick<readonly PoolField[]>([
        ["region", "key"],
        ["region", "key"],
        ["region"],
        ["server_name"],
        ["region", "server_name"],
        [],
      ]),
      measure,
      side,
      limit: isRatio ? dice.pick([0.25, 0.5, 0.6]) : dice.pick([1, 1, 2, 3]),
      hold: { ms: dice.pick([0, 0, minute, dice.between(1, 4) * intervalMs]) },
      keepFiringMs: dice.pick([0, 0, dice.between(1, 3) * intervalMs]),
      remindEveryMs: dice.pick([null, null, dice.between(3, 20) * intervalMs]),
      receivers: told.length > 0 ? told : receivers.slice(0, 1).map((receiver) => receiver.name),
    };
  });
}

/** A rule on pools as a configuration file has it. */
export function poolCondition({ by, measure, side, limit, hold }: ScenarioPoolRule): object {
  return { by, [measure]: { [side]: limit }, for: `${hold.ms / 1_000}s` };
}
