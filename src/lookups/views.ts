import { z } from "zod";
import { operationProblems } from "../core/deviation.ts";
import { lookupWords } from "../core/lookup-words.ts";
import { failureReasons } from "../core/model.ts";
import type { JsonValue } from "../service/json.ts";

/** What a look-up answers, as it goes over the wire and as the command prints it with --json. */

const asked = {
  operation: z.enum(lookupWords),
  /** Null where the operation is asked about no one thing. */
  id: z.string().nullable(),
  region: z.string(),
  key: z.string(),
};

/** Whatever JSON gave. */
const json = z.custom<JsonValue>((value) => value !== undefined);

export const answeredView = z.object({
  ...asked,
  outcome: z.literal("answered"),
  /** All that the service answered, but for what may be secret. */
  answer: json,
});
export type AnsweredView = z.output<typeof answeredView>;

export const failedView = z.object({
  ...asked,
  outcome: z.literal("failed"),
  reason: z.enum(failureReasons),
  /** The HTTP status; null: no answer came. */
  status: z.number().nullable(),
  detail: z.string(),
  /** What the answer says of the operation itself, whatever it is asked for; null: nothing. */
  problem: z.enum(operationProblems).nullable(),
  retry_after_seconds: z.number().nullable(),
  /** What the service finds wrong with what it was asked for. */
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

export const lookupView = z.discriminatedUnion("outcome", [answeredView, failedView]);
export type LookupView = z.output<typeof lookupView>;

/** Whose key in which region it is about: that one call may leave now, or that none may for a while. */
export const permitView = z.object({ region: z.string(), key: z.string() });
export type PermitView = z.output<typeof permitView>;
