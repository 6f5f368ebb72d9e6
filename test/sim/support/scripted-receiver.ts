import { receiverOrigin } from "../scenario.ts";
import type { Attempt } from "../history.ts";
import type { Peer, Reaction, VirtualRequest } from "./virtual-network.ts";
import type { World } from "./world.ts";

export const receiverFaults = [
  "refuses",
  "fails",
  "limits",
  "hangs",
  /** It accepts the message, but its answer is lost. */
  "forgets_to_answer",
  "breaks_after_taking",
  "is_slow",
  "refuses_for_good",
] as const;
type ReceiverFault = (typeof receiverFaults)[number];

/** What a receiver records of a request. */
export interface Receipt {
  /** The result of the answer is noted here. */
  readonly received: Pick<Attempt, "answered" | "refused">;
  readonly text: string;
}

/** Throws when the request is not what it should be. */
export type RecordRequest = (request: VirtualRequest, taken: boolean) => Receipt;

export interface ScriptedReceiver extends Peer {
  fail(fault: ReceiverFault, chance: number): void;
  recover(): void;
}

export function createScriptedReceiver(
  world: World,
  name: string,
  refused: string[],
  record: RecordRequest,
): ScriptedReceiver {
  const { time } = world;
  const dice = world.dice.fork(name);
  let present: { readonly fault: ReceiverFault; readonly chance: number } | null = null;

  const answer = (
    received: Receipt["received"],
    status: number,
    afterMs: number,
    headers: Readonly<Record<string, string>> = {},
  ): Reaction => ({
    kind: "answers",
    afterMs,
    status,
    headers,
    chunks: status < 300 ? ["ok"] : [],
    chunkMs: 1,
    onWhole() {
      if (status < 300) received.answered = time.now();
      if (status === 400 || status === 410) received.refused = time.now();
    },
  });

  const react = (fault: ReceiverFault | null, received: Receipt["received"]): Reaction => {
    const soonMs = dice.between(1, 900);
    switch (fault) {
      case null:
        return answer(received, dice.pick([200, 204]), soonMs);
      case "is_slow":
        return answer(received, 200, dice.between(3_000, 14_000));
      case "forgets_to_answer":
      case "hangs":
        return { kind: "hangs" };
      case "refuses":
        return { kind: "breaks", afterMs: soonMs, code: "ECONNREFUSED" };
      case "breaks_after_taking":
        return { kind: "breaks", afterMs: soonMs, code: "ECONNRESET" };
      case "fails":
        return answer(received, dice.pick([500, 502, 503, 408]), soonMs);
      case "refuses_for_good":
        return answer(received, dice.pick([400, 410]), soonMs);
      case "limits":
        return answer(received, 429, soonMs, { "retry-after": String(dice.between(1, 1_200)) });
    }
  };

  return {
    origin: receiverOrigin(name),
    receive(request) {
      const fault = present && dice.chance(present.chance) ? present.fault : null;
      const taken =
        fault === null || ["is_slow", "forgets_to_answer", "breaks_after_taking"].includes(fault);
      try {
        const { received, text } = record(request, taken);
        const did = taken ? (fault ?? "accepts") : `${fault}, and does not accept`;
        world.log(`${name} ${did} ${text}`);
        const reaction = react(fault, received);
        if (taken) world.killSwitch.happened("taken");
        return reaction;
      } catch (error) {
        refused.push(`${name} refused a message: ${String(error)}`);
        return { kind: "answers", afterMs: 1, status: 400, chunks: [], chunkMs: 0 };
      }
    },
    fail(fault, chance) {
      present = { fault, chance };
      world.log(`${name} ${fault} in ${Math.round(chance * 100)}% of answers`);
    },
    recover() {
      if (present) world.log(`${name} is well again`);
      present = null;
    },
  };
}
