import { operationOf, takesId } from "../core/lookup-words.ts";
import type { LookupWord } from "../core/lookup-words.ts";
import type { Target } from "../core/model.ts";
import { BusyError, RefusedError } from "../core/refusal.ts";
import type { RetryBudget } from "../core/retry.ts";
import { readRequest } from "../interventions/requests.ts";
import type { Clock } from "../platform/clock.ts";
import type { Secret } from "../platform/secret.ts";
import { mayResend } from "../polling/key-limits.ts";
import type { Granted, KeyLimits } from "../polling/key-limits.ts";
import type { ServiceClient } from "../service/client.ts";
import type { CallFailure } from "../service/failure.ts";
import type { Lookup } from "../service/lookup.ts";
import { chooseTarget } from "./choose-target.ts";
import { createMask } from "./mask-answer.ts";
import type { Mask } from "./mask-answer.ts";
import * as requests from "./requests.ts";
import type * as views from "./views.ts";

/**
 * What people ask the service itself, one thing at a time. Every request is checked here, whoever
 * sent it; each operation throws a {@link RefusedError} for what cannot be done, and a
 * {@link BusyError} for what cannot be done yet.
 */
export interface Lookups {
  /** @param word one of the look-up words, as it came */
  lookUp(word: string, query: requests.LookupQuery): Promise<views.LookupView>;
  /** Takes a token of a key for a call that is made elsewhere. */
  permit(request: requests.PermitRequest): Promise<views.PermitView>;
  /** Sends nothing with a key for as long as the service asked for in answer to such a call. */
  heed(request: requests.PatienceRequest): Promise<views.PermitView>;
}

export interface LookupDeps {
  readonly service: Pick<ServiceClient, "look">;
  /** The same that polls ask. */
  readonly limits: KeyLimits;
  /** That of the polls; left out: nothing is sent twice. */
  readonly budget?: RetryBudget;
  readonly targets: readonly Target[];
  readonly keys: readonly { readonly name: string; readonly apiKey: Secret }[];
  readonly clock: Clock;
  /** Between two polls of a target; left out: there are none. */
  readonly pollIntervalMs?: number;
  /** Ends what is under way. */
  readonly signal: AbortSignal;
  /** Left out: as much as the service's client takes. */
  readonly maxBodyBytes?: number;
  /** Left out: what may be secret is masked. */
  readonly showSecrets?: boolean;
}

/** A person waits that long for a token. */
const longestPatienceMs = 3_000;

/** An answer is held as a whole, so not any number of them at once. */
const mostAtOnce = 8;

export function createLookups(deps: LookupDeps): Lookups {
  const { service, limits, budget, clock, signal, maxBodyBytes, showSecrets = false } = deps;
  // The tokens that look-ups wait for are gone for polls: a poll is to find one before its next turn.
  const patienceMs = Math.min(
    longestPatienceMs,
    (deps.pollIntervalMs ?? Number.POSITIVE_INFINITY) / 2,
  );
  let underWay = 0;

  const takeToken = async (target: Target): Promise<Granted> => {
    const deadlineMs = clock.now().monotonicMs + patienceMs;
    const admission = await limits.admit(target, deadlineMs, signal);
    if (admission.kind === "granted") return admission;
    if (admission.kind === "stopped")
      throw new RefusedError("conflict", "sandwatch is being stopped.");
    throw mustWait(target, limits.nextFreeMs(target) - clock.now().monotonicMs);
  };

  const ask = async (target: Target, apiKey: Secret, lookup: Lookup) => {
    const granted = await takeToken(target);
    budget?.requestSent();
    const limit = maxBodyBytes !== undefined && { maxBodyBytes };
    const call = {
      region: target.region,
      apiKey,
      signal,
      onSent: granted.sent,
      mayResend: () => mayResend(granted, budget),
      ...limit,
    };
    const result = await service.look(call, lookup).finally(granted.ended);
    if (result.kind === "failed" && result.retryAfterMs !== null) {
      limits.pause(target, clock.now().monotonicMs + result.retryAfterMs);
    }
    return result;
  };

  return {
    async lookUp(text, query) {
      const word = readRequest(requests.lookupWord, text);
      const { id, ...choice } = readRequest(requests.lookupQuery, query);
      const lookup = asLookup(word, id);
      const target = chooseTarget(deps.targets, choice);
      const apiKey = keyOf(target, deps.keys);
      if (underWay >= mostAtOnce) throw tooMany();
      underWay += 1;
      try {
        const result = await ask(target, apiKey, lookup);
        const asked = { operation: word, id: id ?? null, ...target };
        const mask = createMask({ apiKey, showSecrets });
        if (result.kind === "failed") return viewFailure(asked, result, mask);
        return { ...asked, outcome: "answered", answer: await mask.answer(result.value) };
      } finally {
        underWay -= 1;
      }
    },

    async permit(request) {
      const target = chooseTarget(deps.targets, readRequest(requests.permitRequest, request));
      const elsewhere = await takeToken(target);
      elsewhere.ended();
      return target;
    },

    async heed(request) {
      const { seconds: patience, ...choice } = readRequest(requests.patienceRequest, request);
      const target = chooseTarget(deps.targets, choice);
      limits.pause(target, clock.now().monotonicMs + patience * 1_000);
      return target;
    },
  };
}

type Asked = Pick<views.LookupView, "operation" | "id" | "region" | "key">;

function asLookup(word: LookupWord, id: string | undefined): Lookup {
  if (!takesId(word)) {
    if (id === undefined) return { operation: operationOf(word) };
    throw wrongId(`${word} is asked for as a whole, without an id.`, "nothing");
  }
  if (id === undefined) throw wrongId(`Say which ${word}: give its id.`, requests.idAllowed);
  return { operation: operationOf(word), id };
}

function wrongId(message: string, allowed: string): RefusedError {
  return new RefusedError("invalid", message, [{ path: "id", allowed }]);
}

function keyOf({ key }: Target, keys: LookupDeps["keys"]): Secret {
  const found = keys.find(({ name }) => name === key);
  if (!found) throw new TypeError("A target's key must be a configured one");
  return found.apiKey;
}

function mustWait({ region, key }: Target, waitMs: number): BusyError {
  return new BusyError(
    `No call may leave with the key ${key} in ${region} yet: its limit is used up, or the service asked for patience. Try again in ${seconds(waitMs)} s.`,
    waitMs,
  );
}

function tooMany(): BusyError {
  return new BusyError(`${mostAtOnce} look-ups are under way already. Try again in 1 s.`, 1_000);
}

/** Rounded up: whoever waits that long has waited long enough. */
function seconds(ms: number): number {
  return Math.max(1, Math.ceil(ms / 1_000));
}

function viewFailure(asked: Asked, failure: CallFailure, mask: Mask): views.FailedView {
  const { reason, status, detail, problem = null, retryAfterMs, validation } = failure;
  return {
    ...asked,
    outcome: "failed",
    reason,
    status,
    detail,
    problem,
    retry_after_seconds: retryAfterMs === null ? null : Math.ceil(retryAfterMs / 1_000),
    validation: validation.map(({ loc, msg, type }) => ({
      loc: loc.map((part) => (typeof part === "string" ? mask.text(part) : part)),
      msg: mask.text(msg),
      type: mask.text(type),
    })),
  };
}
