import { z } from "zod";
import { poolFields, poolMeasures, severities } from "../core/rule.ts";
import type { PoolField, PoolMeasure } from "../core/rule.ts";
import { duration, name, oneOf, scalar, settings } from "./fields.ts";
import { commonOf, commonSettings, poolMatchSchema } from "./rule-fields.ts";

const byAllowed = `one or a list of ${poolFields.join(", ")}`;

const bySchema = z.unknown().transform((value, context): readonly PoolField[] => {
  const fields: readonly unknown[] = Array.isArray(value) ? value : [value];
  const isField = (field: unknown): field is PoolField => poolFields.some((each) => each === field);
  if (fields.every(isField) && new Set(fields).size === fields.length) return fields;
  context.addIssue({ code: "custom", message: `${byAllowed}, each once` });
  return z.NEVER;
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
  return settings({
    above: scalar(`${kind} ${upper}`, (value) => {
      const number = read(value);
      return number !== undefined && number >= 0 && number < most ? number : undefined;
    }).optional(),
    below: scalar(`${kind} ${lower}`, (value) => {
      const number = read(value);
      return number !== undefined && number > 0 && number <= most ? number : undefined;
    }).optional(),
  }).transform(({ above, below }, context): Limit => {
    if (above !== undefined && below === undefined) return { side: "above", limit: above };
    if (below !== undefined && above === undefined) return { side: "below", limit: below };
    context.addIssue({ code: "custom", message: "{ above: ... } or { below: ... }" });
    return z.NEVER;
  });
}

const ratioSchema = limitSchema(1, false);
const countSchema = limitSchema(Number.MAX_SAFE_INTEGER, true);

export const poolRuleSchema = settings({
  name: name(),
  on: z.literal("pool"),
  severity: oneOf(severities).default("warning"),
  by: bySchema.prefault(["region", "key"]),
  occupied_ratio: ratioSchema.optional(),
  idle: countSchema.optional(),
  error_ratio: ratioSchema.optional(),
  servers: countSchema.optional(),
  for: duration("0s").default(0),
  match: poolMatchSchema.prefault({}),
  ...commonSettings,
}).transform((rule, context) => {
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
