import type { Dice } from "./dice.ts";

export const probedOperations = ["user", "universes", "universe-data", "white-label"] as const;
export type ProbedOperation = (typeof probedOperations)[number];

/** A call of another operation, in each region with each key. */
export interface ScenarioProbe {
  readonly name: string;
  readonly operation: ProbedOperation;
  readonly path: string;
  readonly everyMs: number;
  /** `usual`: the operation's usual answer; `refusal`: 404; `anything`: status 200. */
  readonly expects: "usual" | "refusal" | "anything";
}

/** The id that probes ask for. */
export const probeId = "simulated-1";

/** How many the probe of universes expects at least. */
export const leastUniverses = 2;

interface Operation {
  readonly path: string;
  readonly id?: string;
  /** Its usual answer, as the setting of a probe has it. */
  readonly expect: object;
}

const operations: Readonly<Record<ProbedOperation, Operation>> = {
  user: { path: `/user/${probeId}`, id: probeId, expect: { fields: { userId: probeId } } },
  universes: { path: "/universes", expect: { at_least: leastUniverses } },
  "universe-data": {
    path: `/universes/${probeId}/initial_data`,
    id: probeId,
    expect: { fields: { "git.files": { present: true } } },
  },
  "white-label": {
    path: `/white-labeling/get/${probeId}`,
    id: probeId,
    expect: { success: true },
  },
};

const minute = 60_000;

/** Some worlds have probes, as many as the rate limit allows beside polls. */
export function drawProbes(
  dice: Dice,
  intervalMs: number,
  rateLimit: { readonly requests: number },
): readonly ScenarioProbe[] {
  const count = dice.pick([0, 0, 0, 1, 2, 3]);
  const everyMs = Math.max(2 * minute, 2 * intervalMs);
  const first = dice.between(0, probedOperations.length - 1);
  // With one request in five seconds, frequent polls would wait for longer than they may.
  if (rateLimit.requests === 1 && intervalMs < 2 * minute) return [];
  const ordered = [...probedOperations.slice(first), ...probedOperations.slice(0, first)];
  return ordered.slice(0, count).map((operation) => ({
    name: `probe-${operation}`,
    operation,
    path: operations[operation].path,
    everyMs: everyMs * dice.pick([1, 1, 2]),
    expects: operation === "user" ? dice.pick(["usual", "usual", "refusal"] as const) : "usual",
  }));
}

/** A probe as a configuration file has it. */
export function probeSetting({ name, operation, everyMs, expects }: ScenarioProbe): object {
  const { id, expect } = operations[operation];
  const expected = { usual: { expect }, refusal: { expect: { status: 404 } }, anything: {} };
  const every = `${everyMs / 1_000}s`;
  return { name, operation, ...(id !== undefined && { id }), every, ...expected[expects] };
}
