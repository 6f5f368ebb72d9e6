import { z } from "zod";
import { operationProblems } from "../../fleet/deviation.ts";
import { lookupWords, operationOf, takesId } from "../../fleet/lookup-words.ts";
import type { LookupWord } from "../../fleet/lookup-words.ts";
import { failureReasons } from "../../fleet/model.ts";
import type { Target } from "../../fleet/model.ts";
import { BusyError, RefusedError } from "../../lib/refusal.ts";
import type { Secret } from "../../lib/secret.ts";
import { mayResend } from "../../polling/key-limits.ts";
import type { Granted } from "../../polling/key-limits.ts";
import type { CallFailure } from "../../service/failure.ts";
import type { JsonValue } from "../../service/json.ts";
import type { Lookup } from "../../service/operations.ts";
import { createMask } from "../../service/mask.ts";
import type { Mask } from "../../service/mask.ts";
import { canStandInPath } from "../../service/operations.ts";
import { chooseTarget, targetChoice } from "../choose-target.ts";
import type { ServiceContext } from "../context.ts";
import { nullableText } from "../fields.ts";
import { defineOperation } from "../operation.ts";

/** In a URL an id may take nine times as many bytes, for which there is room. */
const longestId = 1_000;
const idAllowed = `text of at most ${longestId} characters, other than an empty one, . and .., which no path can hold`;

/** An id that a request to the service can have in its path. */
export function serviceId(allowed: string) {
  return z
    .string(allowed)
    .max(longestId, allowed)
    .refine((id) => canStandInPath(id), allowed);
}

const asked = {
  operation: z.enum(lookupWords),
  /** Null: the operation takes no id. */
  id: nullableText,
  region: z.string(),
  key: z.string(),
};

const answeredView = z.object({
  ...asked,
  outcome: z.literal("answered"),
  /** The service's response, with what may be secret masked. */
  answer: z.custom<JsonValue>((value) => value !== undefined),
});
export type AnsweredView = z.output<typeof answeredView>;

const failedView = z.object({
  ...asked,
  outcome: z.literal("failed"),
  reason: z.enum(failureReasons),
  /** The HTTP status; null: there was no response. */
  status: z.number().nullable(),
  detail: z.string(),
  /** What is wrong with the operation itself, whatever the id; null: nothing. */
  problem: z.enum(operationProblems).nullable(),
  retry_after_seconds: z.number().nullable(),
  /** What the service found invalid. */
  validation: z
    .array(
      z.object({
        loc: z.array(z.union([z.string(), z.number()])).readonly(),
        msg: z.string(),
        type: z.string(),
      }),
    )
    .readonly(),
});
export type FailedView = z.output<typeof failedView>;

const lookupView = z.discriminatedUnion("outcome", [answeredView, failedView]);
export type LookupView = z.output<typeof lookupView>;

/** Responses are held in memory as a whole. */
const mostAtOnce = 8;

export const lookUp = defineOperation({
  name: "lookUp",
  method: "GET",
  path: "/lookups/{operation}",
  summary: "Calls an operation of the service; what may be secret in the response is masked",
  request: z.strictObject({
    operation: z.enum(lookupWords, lookupWords.join(", ")),
    id: serviceId(idAllowed).optional(),
    ...targetChoice.shape,
  }),
  response: lookupView,
  refusals: [409, 429],
  callsService: true,
  timeoutMs: 5 * 60_000,
  async handle(context: ServiceContext, { operation, id, ...choice }) {
    const lookup = asLookup(operation, id);
    const { target, apiKey } = chooseTarget(context, choice);
    const { inProgress } = context;
    if (inProgress.lookups >= mostAtOnce) {
      const message = `${mostAtOnce} look-ups are under way already. Try again in 1 s.`;
      throw new BusyError(message, 1_000);
    }
    inProgress.lookups += 1;
    try {
      const result = await call(context, target, apiKey, lookup);
      const request = { operation, id: id ?? null, ...target };
      const mask = createMask(apiKey);
      if (result.kind === "failed") return { ...request, ...viewFailure(result, mask) };
      return { ...request, outcome: "answered" as const, answer: await mask.answer(result.value) };
    } finally {
      inProgress.lookups -= 1;
    }
  },
});

function asLookup(word: LookupWord, id: string | undefined): Lookup {
  if (!takesId(word)) {
    if (id === undefined) return { operation: operationOf(word) };
    throw wrongId(`${word} is asked for as a whole, without an id.`, "nothing");
  }
  if (id === undefined) throw wrongId(`Say which ${word}: give its id.`, idAllowed);
  return { operation: operationOf(word), id };
}

function wrongId(message: string, allowed: string): RefusedError {
  return new RefusedError("invalid", message, [{ path: "id", allowed }]);
}

async function call(context: ServiceContext, target: Target, apiKey: Secret, lookup: Lookup) {
  const { service, limits, budget, clock, signal, maxBodyBytes } = context;
  const granted = await takeToken(context, target);
  budget?.requestSent();
  const request = {
    region: target.region,
    apiKey,
    signal,
    maxBodyBytes,
    onSent: granted.sent,
    mayResend: () => mayResend(granted, budget),
  };
  const result = await service.look(request, lookup).finally(granted.ended);
  if (result.kind === "failed" && result.retryAfterMs !== null) {
    limits.pause(target, clock.now().monotonicMs + result.retryAfterMs);
  }
  return result;
}

const longestWaitMs = 3_000;

/** Waits at most half of the time between two polls: the next poll must still find a token. */
async function takeToken(context: ServiceContext, target: Target): Promise<Granted> {
  const { limits, clock, signal, pollIntervalMs = Number.POSITIVE_INFINITY } = context;
  const deadlineMs = clock.now().monotonicMs + Math.min(longestWaitMs, pollIntervalMs / 2);
  const admission = await limits.admit(target, deadlineMs, signal);
  if (admission.kind === "granted") return admission;
  if (admission.kind === "stopped") {
    throw new RefusedError("conflict", "sandwatch is being stopped.");
  }
  const waitMs = limits.nextFreeMs(target) - clock.now().monotonicMs;
  const seconds = Math.max(1, Math.ceil(waitMs / 1_000));
  throw new BusyError(
    `The key ${target.key} must not be used in ${target.region} yet: its rate limit is used up, or the service sent Retry-After. Try again in ${seconds} s.`,
    waitMs,
  );
}

function viewFailure(failure: CallFailure, mask: Mask) {
  const { reason, status, detail, problem = null, retryAfterMs, validation } = failure;
  return {
    outcome: "failed" as const,
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
