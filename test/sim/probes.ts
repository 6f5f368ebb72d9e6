import type { Dice } from "./support/dice.ts";

export const probedOperations = ["user", "universes", "universe-data", "white-label"] as const;
export type ProbedOperation = (typeof probedOperations)[number];

/** A call of another operation, in each region with each key. */
export interface ScenarioProbe {
  readonly name: string;
  readonly operation: ProbedOperation;
  readonly path: string;
  readonly everyMs: number;
  /** `usual`: what the operation answers when all is well; `refusal`: 404; `anything`: status 200. */
  readonly expects: "usual" | "refusal" | "anything";
}

/** A condition on probes: that their runs fail. */
export interface ScenarioProbeRule {
  readonly on: "probe";
  readonly name: string;
  readonly hold: { readonly ms: number } | { readonly polls: number };
  readonly flap: { readonly changes: number; readonly withinMs: number } | null;
  readonly keepFiringMs: number;
  readonly remindEveryMs: number | null;
  readonly receivers: readonly string[];
}

const minute = 60_000;

/** Whom the probes ask for. */
export const probeId = "simulated-1";

const paths: Readonly<Record<ProbedOperation, string>> = {
  user: `/user/${probeId}`,
  universes: "/universes",
  "universe-data": `/universes/${probeId}/initial_data`,
  "white-label": `/white-labeling/get/${probeId}`,
};

/** How many the probe of universes expects at least. */
export const leastUniverses = 2;

/** Some worlds have probes, so many that polls have room beside them. */
export function drawProbes(
  dice: Dice,
  {
    intervalMs,
    rateLimit,
  }: { readonly intervalMs: number; readonly rateLimit: { readonly requests: number } },
): readonly ScenarioProbe[] {
  const count = dice.pick([0, 0, 0, 1, 2, 3]);
  const everyMs = Math.max(2 * minute, 2 * intervalMs);
  const first = dice.between(0, probedOperations.length - 1);
  const operations = [...probedOperations.slice(first), ...probedOperations.slice(0, first)];
  // With one request in five seconds, polls that come often would wait for longer than they may.
  if (rateLimit.requests === 1 && intervalMs < 2 * minute) return [];
  return operations.slice(0, count).map((operation) => ({
    name: `probe-${operation}`,
    operation,
    path: paths[operation],
    everyMs: everyMs * dice.pick([1, 1, 2]),
    expects: operation === "user" ? dice.pick(["usual", "usual", "refusal"] as const) : "usual",
  }));
}

export function drawProbeRules(
  dice: Dice,
  probes: readonly ScenarioProbe[],
  receivers: readonly { readonly name: string }[],
): readonly ScenarioProbeRule[] {
  const [first] = probes;
  if (!first) return [];
  const { everyMs } = first;
  const told = receivers.filter(() => dice.chance(0.7)).map(({ name }) => name);
  return [
    {
      on: "probe",
      name: "probe-failing",
      hold: dice.pick<ScenarioProbeRule["hold"]>([
        { polls: 1 },
        { polls: 2 },
        { polls: 3 },
        { ms: everyMs },
        { ms: dice.between(0, 5) * minute },
      ]),
      flap: dice.chance(0.6)
        ? null
        : { changes: dice.between(1, 3), withinMs: dice.between(5, 30) * everyMs },
      keepFiringMs: dice.pick([0, 0, dice.between(1, 2) * everyMs]),
      remindEveryMs: dice.pick([null, null, dice.between(2, 10) * everyMs]),
      receivers: told.length > 0 ? told : receivers.slice(0, 1).map(({ name }) => name),
    },
  ];
}

/** A probe as a configuration file has it. */
export function probeSetting({ name, operation, everyMs, expects }: ScenarioProbe): object {
  return {
    name,
    operation,
    ...(operation === "universes" ? {} : { id: probeId }),
    every: `${everyMs / 1_000}s`,
    ...(expects === "refusal" ? { expect: { status: 404 } } : {}),
    ...(expects === "usual" ? expectSetting(operation) : {}),
  };
}

function expectSetting(operation: ProbedOperation): object {
  switch (operation) {
    case "user":
      return { expect: { fields: { userId: probeId } } };
    case "universes":
      return { expect: { at_least: leastUniverses } };
    case "universe-data":
      return { expect: { fields: { "git.files": { present: true } } } };
    case "white-label":
      return { expect: { success: true } };
  }
}
