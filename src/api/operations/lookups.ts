import { z } from "zod";
import { operationProblems } from "../../fleet/deviation.ts";
import {
  operationNames,
  operationOf,
  takesId,
  type OperationName,
} from "../../fleet/operation-names.ts";
import { failureReasons } from "../../fleet/model.ts";
import { BusyError, RefusedError } from "../../lib/refused-error.ts";
import { mayResend } from "../../polling/key-limits.ts";
import type { JsonValue } from "../../service/json-value.ts";
import { createMask } from "../../service/mask.ts";
import type { Lookup } from "../../service/operations.ts";
import type { Needs } from "../context.ts";
import { listed, nullableText, targetLabels } from "../fields.ts";
import { defineAction } from "../operation.ts";
import {
  callWithToken,
  chooseTarget,
  idAllowed,
  serviceId,
  targetChoice,
} from "../service-call.ts";

const asked = {
  operation: z.enum(operationNames),
  id: nullableText.describe("Null: the operation takes no id"),
  ...targetLabels,
};

const answeredView = z.object({
  ...asked,
  outcome: z.literal("answered"),
  /** The service's response, with what may be secret masked unless `show_secrets` is set. */
  answer: z.custom<JsonValue>((value) => value !== undefined),
});

const failedView = z.object({
  ...asked,
  outcome: z.literal("failed"),
  reason: z.enum(failureReasons),
  status: z.number().nullable().describe("The HTTP status; null: there was no response"),
  detail: z.string(),
  problem: z
    .enum(operationProblems)
    .nullable()
    .describe("What is wrong with the operation itself, for any id; null: nothing"),
  retry_after_seconds: z.number().nullable(),
  validation: listed(
    z.object({
      loc: listed(z.union([z.string(), z.number()])),
      msg: z.string(),
      type: z.string(),
    }),
  ).describe("What the service found invalid"),
});
export type FailedView = z.output<typeof failedView>;

const lookupView = z.discriminatedUnion("outcome", [answeredView, failedView]);
export type LookupView = z.output<typeof lookupView>;

/** Responses are held in memory as a whole. */
const mostAtOnce = 8;

const longestWaitMs = 3_000;

export const lookUp = defineAction({
  name: "lookUp",
  permission: "call",
  path: "/lookups/{operation}",
  summary:
    "Calls an operation of the service; fields that may be secret are masked in the response",
  request: z.strictObject({
    operation: z.enum(operationNames, operationNames.join(", ")),
    id: serviceId,
    ...targetChoice,
    show_secrets: z
      .boolean("true or false")
      .exactOptional()
      .describe("Shows the response as the service sent it, with its secrets. It is in the log."),
  }),
  response: lookupView,
  refusals: [409, 429],
  timeoutMs: 5 * 60_000,
  async handle(
    { calls }: Needs<"calls">,
    { operation, id, show_secrets: showsSecrets = false, ...choice },
  ): Promise<LookupView> {
    const lookup = asLookup(operation, id);
    const chosen = chooseTarget(calls, choice);
    const { service, budget, limits, clock, inProgress, pollIntervalMs = Infinity } = calls;
    if (inProgress.lookups >= mostAtOnce) {
      const message = `${mostAtOnce} look-ups are already in progress. Try again in 1 s.`;
      throw new BusyError(message, 1_000);
    }
    inProgress.lookups += 1;
    try {
      // The next poll must still find a token.
      const waitMs = Math.min(longestWaitMs, pollIntervalMs / 2);
      const result = await callWithToken(
        calls,
        chosen,
        lookup.operation,
        waitMs,
        (call, granted) => {
          budget?.requestSent();
          const again = { mayResend: () => mayResend(granted, budget) };
          return service.look({ ...call, ...again }, lookup);
        },
      );
      const { target, apiKey } = chosen;
      if (result.kind === "stopped") {
        throw new RefusedError("conflict", "sandwatch is stopping.");
      }
      if (result.kind === "too_late") {
        const freeInMs = limits.nextFreeMs(target) - clock.now().monotonicMs;
        throw new BusyError(
          `The key ${target.key} must not be used in ${target.region} yet: its rate limit is used up, or the service sent Retry-After. Try again in ${inSeconds(freeInMs)} s.`,
          freeInMs,
        );
      }
      const request = { operation, id: id ?? null, ...target };
      const mask = createMask(apiKey);
      if (result.kind === "ok") {
        const answer = showsSecrets
          ? result.value
          : await mask.response(lookup.operation, result.value);
        return { ...request, outcome: "answered", answer };
      }
      const { reason, status, detail, problem = null, retryAfterMs, validation } = result;
      return {
        ...request,
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
    } finally {
      inProgress.lookups -= 1;
    }
  },
});

function inSeconds(ms: number): number {
  return Math.max(1, Math.ceil(ms / 1_000));
}

function asLookup(word: OperationName, id: string | undefined): Lookup {
  if (!takesId(word)) {
    if (id === undefined) return { operation: operationOf(word) };
    throw wrongId(`${word} is looked up as a whole, without an id.`, "nothing");
  }
  if (id === undefined) throw wrongId(`${word} requires an id.`, idAllowed);
  return { operation: operationOf(word), id };
}

function wrongId(message: string, allowed: string): RefusedError {
  return new RefusedError("invalid", message, [{ path: "id", allowed }]);
}
