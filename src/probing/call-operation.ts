import type { ProbeOutcome, ProbeRun } from "../core/judge-probe.ts";
import type { Operation, Target } from "../core/model.ts";
import type { Expectation } from "../core/probe-expectation.ts";
import { emptySnapshot } from "../fleet/snapshot.ts";
import type { Clock } from "../platform/clock.ts";
import type { Secret } from "../platform/secret.ts";
import type { CallTurn, PersistentCall } from "../polling/persistent-call.ts";
import type { Call, ServiceClient } from "../service/client.ts";
import type { CallFailure } from "../service/failure.ts";
import type { Lookup } from "../service/lookup.ts";
import { readAnswer } from "./read-answer.ts";

/** What probing needs of the service's client. */
export type ProbedService = Pick<ServiceClient, "listSandboxes" | "look">;

export interface OperationTurn extends CallTurn {
  readonly apiKey: Secret;
}

export interface CalledOperation {
  readonly operation: Operation;
  readonly id: string | null;
  readonly expect: Pick<Expectation, "fields">;
}

/** Gives null when it was stopped. */
export type CallOperation = (
  called: CalledOperation,
  target: Target,
  turn: OperationTurn,
) => Promise<ProbeRun | null>;

interface Read {
  readonly kind: "ok";
  readonly outcome: Extract<ProbeOutcome, { kind: "read" }>;
}

/** A larger answer, which is read at one go, would hold up everything else. Listings are not. */
const maxBodyBytes = 8 * 2 ** 20;

/** Calls any operation as persistently as polls ask for listings. */
export function createCallOperation(
  service: ProbedService,
  callPersistently: PersistentCall,
  clock: Clock,
): CallOperation {
  const countSandboxes = async (call: Call): Promise<Read | CallFailure> => {
    const result = await service.listSandboxes({ ...call, before: emptySnapshot, poll: 0 });
    if (result.kind === "failed") return result;
    const figures = { universes: null, lastUsedAtMs: null };
    const listed = result.value.listing.sandboxes.length;
    return { kind: "ok", outcome: { kind: "read", content: null, listed, ...figures } };
  };

  return async ({ operation, id, expect }, target, turn) => {
    const { region } = target;
    const { apiKey } = turn;
    let sentAtMs: number | null = null;
    const ended = await callPersistently<Read>(target, turn, async (attempt) => {
      sentAtMs ??= clock.now().monotonicMs;
      const call = { region, apiKey, ...attempt };
      // Only whose fields are looked at is held as a whole.
      if (operation === "list_sandboxes" && expect.fields.length === 0) return countSandboxes(call);
      const result = await service.look({ ...call, maxBodyBytes }, asLookup(operation, id));
      if (result.kind === "failed") return result;
      const outcome = { kind: "read", ...readAnswer(operation, result.value) } as const;
      return { kind: "ok", outcome };
    });
    if (ended.kind === "stopped") return null;
    const durationMs = sentAtMs === null ? null : clock.now().monotonicMs - sentAtMs;
    return { outcome: ended.kind === "ok" ? ended.outcome : ended, durationMs };
  };
}

function asLookup(operation: Operation, id: string | null): Lookup {
  switch (operation) {
    case "list_sandboxes":
    case "list_universes":
      return { operation };
    case "get_user":
    case "get_universe_data":
    case "get_white_label":
      return { operation, id: id ?? "" };
  }
}
