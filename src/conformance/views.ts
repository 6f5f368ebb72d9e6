import { z } from "zod";
import { operations } from "../core/model.ts";

/** A field as it was found. */
export const fieldView = z.object({
  /** Such as `universes[].name`; `(answer)` for the answer as a whole. */
  field: z.string(),
  verdict: z.enum(["agrees", "outside", "not_seen"]),
  /** How often it was seen, how it differs, or why it could not be seen. */
  detail: z.string(),
});
export type FieldView = z.output<typeof fieldView>;

const operationView = z.object({
  operation: z.enum(operations),
  /**
   * `answered`: its answer was held against the interface. `outside`: it answered in a way that the
   * interface does not have. `not_seen`: for want of an id that is known. `failed`: it gave no answer.
   */
  outcome: z.enum(["answered", "outside", "not_seen", "failed"]),
  detail: z.string(),
  fields: z.array(fieldView).readonly(),
});
export type OperationView = z.output<typeof operationView>;

export const conformanceView = z.object({
  region: z.string(),
  /** Null where the key was not taken from a configuration. */
  key: z.string().nullable(),
  operations: z.array(operationView).readonly(),
  /** How many fields, and answers as a whole, agree with the interface, and so on. */
  agrees: z.number(),
  outside: z.number(),
  not_seen: z.number(),
  /** How many operations gave no answer. */
  failed: z.number(),
});
export type ConformanceView = z.output<typeof conformanceView>;
