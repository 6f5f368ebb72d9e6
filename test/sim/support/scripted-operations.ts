import type { Dice } from "../draw/dice.ts";
import { probeId, type ProbedOperation } from "../draw/probes.ts";

interface OperationAnswer {
  readonly status: number;
  readonly text: string;
  readonly headers?: Readonly<Record<string, string>>;
}

/** The condition of an operation, for a while. */
const conditions = ["fine", "fine", "odd", "unknown", "refused", "failing", "limited"] as const;

const at = "2026-11-20T09:30:00Z";
const universe = (number: number): object => ({
  universe_id: `universe-${number}`,
  name: `Universe ${number}`,
  description: "",
  domain: "retail",
  personas: [],
  task_nums: [],
  created_at: at,
});

/** Of each operation the answer that probes expect, and some that they do not. */
const bodies: Readonly<Record<ProbedOperation, readonly [object, readonly [object, ...object[]]]>> =
  {
    user: [
      { userId: probeId, createdAt: at, lastUsedAt: at },
      [
        { userId: null, createdAt: at, lastUsedAt: null },
        { userId: "another", createdAt: at, lastUsedAt: null },
      ],
    ],
    universes: [
      { universes: [universe(1), universe(2), universe(3)] },
      [{ universes: [] }, { universes: [universe(1)] }, {}, []],
    ],
    "universe-data": [{ git: { files: [] } }, [{}, { git: {} }, { git: { files: null } }]],
    "white-label": [
      { success: true, data: { name: "Simulated" }, message: null },
      [{ success: false, data: null, message: "no" }, {}],
    ],
  };

/** The four other operations, each of which changes its condition now and then. */
export function createOperations(dice: Dice) {
  const present = new Map<string, (typeof conditions)[number]>();
  return (target: string, operation: ProbedOperation, isCalm: boolean): OperationAnswer => {
    const name = `${target} ${operation}`;
    if (dice.chance(0.2)) present.set(name, dice.pick(conditions));
    const [usual, odd] = bodies[operation];
    switch (isCalm ? "fine" : (present.get(name) ?? "fine")) {
      case "fine":
        return { status: 200, text: JSON.stringify(usual) };
      case "odd":
        return { status: 200, text: JSON.stringify(dice.pick(odd)) };
      case "unknown":
        return { status: 404, text: JSON.stringify({ detail: "Not found" }) };
      case "refused":
        return { status: dice.pick([401, 403]), text: "" };
      case "failing":
        return { status: dice.pick([500, 503]), text: "" };
      case "limited":
        return { status: 429, text: "", headers: { "retry-after": `${dice.between(1, 200)}` } };
    }
  };
}
