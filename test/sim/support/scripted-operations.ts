import { probeId } from "../probes.ts";
import type { ProbedOperation } from "../probes.ts";
import type { Dice } from "./dice.ts";

/** What the service has to say to a call of another operation than the listing. */
export interface OperationAnswer {
  readonly status: number;
  readonly text: string;
  readonly headers: Readonly<Record<string, string>>;
}

/** How an operation does, for a while. */
const conditions = ["fine", "fine", "odd", "unknown", "refused", "failing", "limited"] as const;
type Condition = (typeof conditions)[number];

/** The four other operations, each of which is fine for a while and then is not. */
export function createScriptedOperations(
  dice: Dice,
): (target: string, operation: ProbedOperation, isCalm: boolean) => OperationAnswer {
  const present = new Map<string, Condition>();
  return (target, operation, isCalm) => {
    const name = `${target} ${operation}`;
    if (dice.chance(0.2)) present.set(name, dice.pick(conditions));
    const condition = isCalm ? "fine" : (present.get(name) ?? "fine");
    const headers = {};
    switch (condition) {
      case "fine":
        return { status: 200, text: JSON.stringify(usual(operation)), headers };
      case "odd":
        return { status: 200, text: JSON.stringify(odd(operation, dice)), headers };
      case "unknown":
        return { status: 404, text: JSON.stringify({ detail: "Not found" }), headers };
      case "refused":
        return { status: dice.pick([401, 403]), text: "", headers };
      case "failing":
        return { status: dice.pick([500, 503]), text: "", headers };
      case "limited":
        return { status: 429, text: "", headers: { "retry-after": `${dice.between(1, 200)}` } };
    }
  };
}

const at = "2026-11-20T09:30:00Z";

function universe(number: number): object {
  return {
    universe_id: `universe-${number}`,
    name: `Universe ${number}`,
    description: "",
    domain: "retail",
    personas: [],
    task_nums: [],
    created_at: at,
  };
}

function usual(operation: ProbedOperation): unknown {
  switch (operation) {
    case "user":
      return { userId: probeId, createdAt: at, lastUsedAt: at };
    case "universes":
      return { universes: [universe(1), universe(2), universe(3)] };
    case "universe-data":
      return { git: { files: [] } };
    case "white-label":
      return { success: true, data: { name: "Simulated" }, message: null };
  }
}

/** An answer that is not what a probe expects. */
function odd(operation: ProbedOperation, dice: Dice): unknown {
  switch (operation) {
    case "user":
      return { userId: dice.pick([null, "another"]), createdAt: at, lastUsedAt: null };
    case "universes":
      return dice.pick<object>([{ universes: [] }, { universes: [universe(1)] }, {}, []]);
    case "universe-data":
      return dice.pick<object>([{}, { git: {} }, { git: { files: null } }]);
    case "white-label":
      return dice.pick<object>([{ success: false, data: null, message: "no" }, {}]);
  }
}
