import { z } from "zod";
import { poolFields, poolMeasures } from "../alerts/rule.ts";
import type { PoolField, PoolMeasure } from "../alerts/rule.ts";
import { duration, scalar, settings } from "./fields.ts";
import { commonOf, commonSettings, poolMatchSchema, ruleName, severity } from "./rule-fields.ts";
import { oneOfSettings, orReference, textLike } from "./written.ts";

const byAllowed = `one or a list of ${poolFields.join(", ")}`;

const fieldLike = orReference({ enum: poolFields });

const bySchema = z
  .unknown()
  .transform((value, context): readonly PoolField[] => {
    const fields: readonly unknown[] = Array.isArray(value) ? value : [value];
    const isField = (field: unknown): field is PoolField =>
      poolFields.some((each) => each === field);
    if (fields.every(isField) && new Set(fields).size === fields.length) return fields;
    context.addIssue({ code: "custom", message: `${byAllowed}, each once` });
    return z.NEVER;
  })
  .meta({
    anyOf: [fieldLike, { type: "array", items: fieldLike, uniqueItems: true }],
    errorMessage: `${byAllowed}, each once`,
  });

/** One of the two sides, and beyond what: the limit itself does not count. */
interface Limit {
  readonly side: "above" | "below";
  readonly limit: number;
}

/** A limit that no pool can be beyond is refused: such a rule could never hold. */
function limitSchema(most: number, whole: boolean) {
  const kind = whole ? "a whole number" : "a ratio";
  const upper = most === 1 ? "below 1" : "of at least 0";
  const lower = whole ? "of at least 1" : "above 0 and at most 1";
  const read = (value: unknown): number | undefined => {
    const number = typeof value === "string" && /^\d+(\.\d+)?$/.test(value) ? Number(value) : value;
    if (typeof number !== "number" || !Number.isFinite(number)) return undefined;
    return whole && !Number.isInteger(number) ? undefined : number;
  };
  const like = {
    ...textLike(/^\d+(?:\.\d+)?$/),
    type: [whole ? "integer" : "number", "string"],
  };
  return settings({
    above: scalar(`${kind} ${upper}`, (value) => {
      const number = read(value);
      return number !== undefined && number >= 0 && number < most ? number : undefined;
    })
      .meta({ ...like, minimum: 0, exclusiveMaximum: most })
      .optional()
      .meta({
        description: "The condition holds above this value.",
        leftOut: "required without `below`",
      }),
    below: scalar(`${kind} ${lower}`, (value) => {
      const number = read(value);
      return number !== undefined && number > 0 && number <= most ? number : undefined;
    })
      .meta({ ...like, exclusiveMinimum: 0, maximum: most })
      .optional()
      .meta({
        description: "The condition holds below this value.",
        leftOut: "required without `above`",
      }),
  })
    .meta({ allOf: [oneOfSettings(["above", "below"])] })
    .transform(({ above, below }, context): Limit => {
      if (above !== undefined && below === undefined) return { side: "above", limit: above };
      if (below !== undefined && above === undefined) return { side: "below", limit: below };
      context.addIssue({ code: "custom", message: "{ above: ... } or { below: ... }" });
      return z.NEVER;
    });
}

const ratioSchema = limitSchema(1, false);
const countSchema = limitSchema(Number.MAX_SAFE_INTEGER, true);

const oneMeasure = (schema: ReturnType<typeof limitSchema>, what: string) =>
  schema.optional().meta({
    description: `${what}. Exactly one measure is set.`,
    leftOut: "required without another measure",
  });

export const poolRuleSchema = settings({
  name: ruleName(),
  on: z
    .literal("pool")
    .describe(
      "The condition holds while one measure of a group of servers is above or below a limit.",
    ),
  severity: severity("warning"),
  by: bySchema
    .prefault(["region", "key"])
    .describe(
      "The fields that define pools: servers with equal values are one pool. With `[]` all servers are one pool.",
    ),
  occupied_ratio: oneMeasure(
    ratioSchema,
    "The share of the servers with a known status that are occupied",
  ),
  idle: oneMeasure(countSchema, "The number of idle servers"),
  error_ratio: oneMeasure(
    ratioSchema,
    "The share of the servers with a known status that are in error",
  ),
  servers: oneMeasure(countSchema, "The number of servers"),
  for: duration("0s")
    .prefault("0s")
    .describe("How long the condition must hold before the incident fires."),
  match: poolMatchSchema
    .prefault({})
    .describe("Limits the rule to servers that match every given field."),
  ...commonSettings,
})
  .meta({ allOf: [oneOfSettings(poolMeasures)] })
  .transform((rule, context) => {
    const given = poolMeasures.flatMap((measure): [PoolMeasure, Limit][] => {
      const limit = rule[measure];
      return limit === undefined ? [] : [[measure, limit]];
    });
    const [first, ...others] = given;
    if (!first || others.length > 0) {
      const message = `one of ${poolMeasures.join(", ")}, such as occupied_ratio: { above: 0.9 }`;
      context.addIssue({ code: "custom", message });
      return z.NEVER;
    }
    const [measure, { side, limit }] = first;
    return {
      ...commonOf(rule),
      on: rule.on,
      severity: rule.severity,
      by: rule.by,
      measure,
      side,
      limit,
      forMs: rule.for,
      match: rule.match,
    };
  });
