import type { Dice } from "./dice.ts";
import type { ScenarioProbe } from "./probes.ts";

/** How long a condition must hold. */
export type Hold = { readonly ms: number } | { readonly polls: number };

/** What meets a condition more than `changes` times within `withinMs` is flapping. */
export interface Flap {
  readonly changes: number;
  readonly withinMs: number;
  /** Whether only the times count at which an incident fires. */
  readonly firingOnly: boolean;
}

interface CommonRule {
  readonly name: string;
  readonly hold: Hold;
  readonly keepFiringMs: number;
  readonly remindEveryMs: number | null;
  readonly receivers: readonly string[];
  /** In the order of their times. Default: nobody else is notified. */
  readonly escalation?: readonly EscalationStep[];
}

/** Who else is notified of what has fired for a time, and nobody has acknowledged. */
export interface EscalationStep {
  readonly afterMs: number;
  readonly receivers: readonly string[];
}

export interface ServerRule extends CommonRule {
  readonly on: "server";
  readonly status: string;
  readonly flap: Flap | null;
}

/** A condition on what a sandbox itself states. */
export interface SandboxRule extends CommonRule {
  readonly on: "sandbox";
  readonly status: string;
  readonly flap: Flap | null;
}

export interface TargetRule extends CommonRule {
  readonly on: "target";
  readonly trouble: "failing" | "auth";
  readonly flap: Flap | null;
}

/** A condition on the targets of a region taken together: that their polls fail. */
export interface RegionRule extends CommonRule {
  readonly on: "region";
  readonly flap: Flap | null;
}

/** A condition on servers taken together. */
export interface PoolRule extends CommonRule {
  readonly on: "pool";
  /** Servers that are alike in all of these are one pool. */
  readonly by: readonly ("region" | "key" | "server_name")[];
  readonly measure: (typeof poolMeasures)[number];
  readonly side: "above" | "below";
  readonly limit: number;
  readonly hold: { readonly ms: number };
}

/** A condition on probes: that their runs fail. */
export interface ProbeRule extends CommonRule {
  readonly on: "probe";
  readonly flap: Flap | null;
}

export type ScenarioRule =
  | ServerRule
  | SandboxRule
  | TargetRule
  | RegionRule
  | PoolRule
  | ProbeRule;

const poolMeasures = ["occupied_ratio", "error_ratio", "idle", "servers"] as const;

/** The name of rules on keys that are refused. */
export const refusedRule = "key-refused";

const minute = 60_000;

export function drawRules(
  dice: Dice,
  intervalMs: number,
  receivers: readonly string[],
): readonly ScenarioRule[] {
  const drawCommon = (name: string) => ({
    name,
    keepFiringMs: dice.pick([0, 0, dice.between(1, 4) * intervalMs]),
    remindEveryMs: dice.pick([null, null, dice.between(3, 20) * intervalMs]),
    receivers: some(dice, receivers),
  });
  const drawHold = (): Hold =>
    dice.pick<Hold>([
      { ms: 0 },
      { ms: 0 },
      { ms: dice.between(1, 5) * minute },
      { ms: dice.between(1, 4) * intervalMs },
      { polls: dice.between(1, 4) },
    ]);
  const flaps = dice.fork("flaps");
  const ofTargets = dice.fork("targets");
  const drawFlap = (own: Dice, share: number): Flap | null =>
    own.chance(share)
      ? {
          changes: own.pick([1, 1, 2, 3]),
          withinMs: own.between(10, 60) * intervalMs,
          firingOnly: own.fork("firing only").chance(0.5),
        }
      : null;
  const rules: ScenarioRule[] = [
    {
      ...drawCommon("server-error"),
      on: "server",
      status: "error",
      hold: drawHold(),
      flap: drawFlap(flaps, 0.6),
    },
    {
      ...drawCommon("target-down"),
      keepFiringMs: ofTargets.pick([0, 0, 2 * intervalMs]),
      on: "target",
      trouble: "failing",
      hold: dice.pick<Hold>([{ polls: 3 }, { polls: 1 }, { ms: 3 * intervalMs }]),
      flap: drawFlap(ofTargets, 0.5),
    },
  ];
  for (const name of [refusedRule, "region-down"] as const) {
    const own = ofTargets.fork(name);
    if (own.chance(0.3)) continue;
    const common = {
      name,
      keepFiringMs: own.pick([0, 0, 2 * intervalMs]),
      remindEveryMs: own.pick([null, null, 8 * intervalMs]),
      receivers: own.chance(0.5) ? receivers : some(own, receivers),
      hold: own.pick<Hold>([{ polls: 1 }, { polls: 2 }, { ms: intervalMs }]),
      flap: drawFlap(own, 0.5),
    };
    rules.push(
      name === "region-down"
        ? { ...common, on: "region" }
        : { ...common, on: "target", trouble: "auth" },
    );
  }
  if (dice.chance(0.4)) {
    const common = drawCommon("server-idle");
    rules.push({ ...common, on: "server", status: "idle", hold: drawHold(), flap: null });
  }
  const unknown = dice.fork("unknown");
  if (unknown.chance(0.3)) {
    rules.push({
      on: "server",
      name: "server-unknown",
      status: "unknown",
      keepFiringMs: unknown.pick([0, 2 * intervalMs]),
      remindEveryMs: null,
      receivers: some(unknown, receivers),
      hold: unknown.pick<Hold>([{ ms: 0 }, { polls: 2 }]),
      flap: null,
    });
  }
  return rules;
}

export function drawSandboxRules(
  dice: Dice,
  intervalMs: number,
  receivers: readonly string[],
): readonly SandboxRule[] {
  const statuses = dice.pick([["error"], ["error"], ["error", "idle"], ["error", "unknown"]]);
  return statuses.map((status) => ({
    on: "sandbox",
    name: `sandbox-${status}`,
    status,
    hold: dice.pick<Hold>([
      { ms: 0 },
      { ms: 0 },
      { ms: dice.between(1, 4) * intervalMs },
      { polls: dice.between(1, 4) },
    ]),
    keepFiringMs: dice.pick([0, 0, dice.between(1, 4) * intervalMs]),
    remindEveryMs: dice.pick([null, null, dice.between(3, 20) * intervalMs]),
    flap: dice.chance(0.4)
      ? {
          changes: dice.between(1, 3),
          withinMs: dice.between(10, 60) * intervalMs,
          firingOnly: dice.fork("firing only").chance(0.5),
        }
      : null,
    receivers: dice.chance(0.5) ? receivers : some(dice, receivers),
  }));
}

/** Some worlds have rules on pools. */
export function drawPoolRules(
  dice: Dice,
  intervalMs: number,
  receivers: readonly string[],
): readonly PoolRule[] {
  const names = dice.pick([[], [], ["pool-first"], ["pool-first", "pool-second"]]);
  return names.map((name) => {
    const measure = dice.pick(poolMeasures);
    const side = dice.pick(["above", "below"] as const);
    const isRatio = measure === "occupied_ratio" || measure === "error_ratio";
    return {
      on: "pool",
      name,
      measure,
      side,
      receivers: some(dice, receivers),
      by: dice.pick<PoolRule["by"]>([
        ["region", "key"],
        ["region", "key"],
        ["region"],
        ["server_name"],
        ["region", "server_name"],
        [],
      ]),
      limit: isRatio ? dice.pick([0.25, 0.5, 0.6]) : dice.pick([1, 1, 2, 3]),
      hold: { ms: dice.pick([0, 0, minute, dice.between(1, 4) * intervalMs]) },
      keepFiringMs: dice.pick([0, 0, dice.between(1, 3) * intervalMs]),
      remindEveryMs: dice.pick([null, null, dice.between(3, 20) * intervalMs]),
    };
  });
}

export function drawProbeRules(
  dice: Dice,
  [probe]: readonly ScenarioProbe[],
  receivers: readonly string[],
): readonly ProbeRule[] {
  if (!probe) return [];
  const { everyMs } = probe;
  return [
    {
      on: "probe",
      name: "probe-failing",
      receivers: some(dice, receivers),
      hold: dice.pick<Hold>([
        { polls: 1 },
        { polls: 2 },
        { polls: 3 },
        { ms: everyMs },
        { ms: dice.between(0, 5) * minute },
      ]),
      flap: dice.chance(0.6)
        ? null
        : {
            changes: dice.between(1, 3),
            withinMs: dice.between(5, 30) * everyMs,
            firingOnly: dice.fork("firing only").chance(0.5),
          },
      keepFiringMs: dice.pick([0, 0, dice.between(1, 2) * everyMs]),
      remindEveryMs: dice.pick([null, null, dice.between(2, 10) * everyMs]),
    },
  ];
}

/** At least one. */
export function some(dice: Dice, names: readonly string[]): readonly string[] {
  const chosen = names.filter(() => dice.chance(0.7));
  return chosen.length > 0 ? chosen : names.slice(0, 1);
}
