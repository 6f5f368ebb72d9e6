import { z } from "zod";
import { pooled, poolFields, poolMeasures } from "../alerts/rule.ts";
import { duration, eachOnce, numberIn, oneOf, oneOfSettings, optional } from "./fields.ts";
import { refuse, scalar, settings, textLike } from "./fields.ts";
import { ruleSettings, serverNamePatterns, targetPatterns } from "./rule-fields.ts";

const byAllowed = `one or a list of ${poolFields.join(", ")}, each once`;

export const poolBySchema = z
  .union(
    [
      oneOf(poolFields).transform((field) => [field]),
      z.array(oneOf(poolFields)).superRefine(eachOnce(byAllowed)).meta({ uniqueItems: true }),
    ],
    byAllowed,
  )
  .readonly()
  .meta({ errorMessage: byAllowed });

/** One of the two sides, and beyond what: the limit itself does not count. */
interface Limit {
  readonly side: "above" | "below";
  readonly limit: number;
}

/** A limit that no pool can be beyond is refused: such a rule could never hold. */
function limitSchema(most: number, isWhole: boolean) {
  const kind = isWhole ? "a whole number" : "a ratio";
  const pattern = /^\d+(?:\.\d+)?$/;
  const numberWhere = (what: string, fits: (number: number) => boolean, range: object) =>
    scalar(`${kind} ${what}`, (value) => {
      const number = numberIn(value, pattern);
      return fits(number) && (!isWhole || Number.isInteger(number)) ? number : undefined;
    }).meta({ ...textLike(pattern), type: [isWhole ? "integer" : "number", "string"], ...range });
  const below = isWhole ? "of at least 1" : "above 0 and at most 1";
  return settings({
    above: optional(
      numberWhere(isWhole ? "of at least 0" : "below 1", (n) => n >= 0 && n < most, {
        minimum: 0,
        exclusiveMaximum: most,
      }),
      "required without `below`",
      "The condition holds above this value.",
    ),
    below: optional(
      numberWhere(below, (n) => n > 0 && n <= most, { exclusiveMinimum: 0, maximum: most }),
      "required without `above`",
      "The condition holds below this value.",
    ),
  })
    .meta({ allOf: [oneOfSettings(["above", "below"])] })
    .transform(({ above, below: limit }, context): Limit => {
      if (above !== null && limit === null) return { side: "above", limit: above };
      if (limit !== null && above === null) return { side: "below", limit };
      return refuse(context, "{ above: ... } or { below: ... }");
    });
}

const ratioSchema = limitSchema(1, false);
const countSchema = limitSchema(Number.MAX_SAFE_INTEGER, true);

const measure = (schema: ReturnType<typeof limitSchema>, what: string) =>
  optional(schema, "required without another measure", `${what}. Exactly one measure is set.`);

export const poolRuleSchema = ruleSettings(
  "pool",
  "The condition holds while one measure of a group of servers or sandboxes is above or below a limit.",
  "warning",
  {
    of: oneOf(pooled)
      .prefault("servers")
      .describe(
        "What is counted. Sandboxes have no name: `server_name` is neither in `by` nor in `match` then.",
      ),
    by: poolBySchema
      .prefault(["region", "key"])
      .describe(
        "The fields that define pools: servers or sandboxes with equal values are one pool. With `[]` all are one pool.",
      ),
    occupied_ratio: measure(
      ratioSchema,
      "The share of those with a known status that are occupied",
    ),
    idle: measure(countSchema, "The number of idle servers or sandboxes"),
    error_ratio: measure(ratioSchema, "The share of those with a known status that are in error"),
    servers: measure(countSchema, "The number of servers"),
    sandboxes: measure(countSchema, "The number of sandboxes, with `of: sandboxes`"),
    forMs: duration("0s")
      .prefault("0s")
      .describe("How long the condition must hold before the incident fires."),
    match: settings({ ...targetPatterns, serverName: serverNamePatterns })
      .prefault({})
      .describe("Limits the rule to servers or sandboxes that match every given field."),
  },
)
  .meta({ allOf: [oneOfSettings(poolMeasures)] })
  .transform(({ occupied_ratio, idle, error_ratio, servers, sandboxes, ...rule }, context) => {
    const limits = { occupied_ratio, idle, error_ratio, servers, sandboxes };
    const [given, ...others] = poolMeasures.filter((each) => limits[each] !== null);
    const limit = given && limits[given];
    if (rule.of === "sandboxes" && (rule.by.includes("server_name") || rule.match.serverName)) {
      const path = [rule.match.serverName ? "match" : "by"];
      return refuse(context, "no server_name: sandboxes have none", { path, found: "server_name" });
    }
    if (given !== rule.of && pooled.some((each) => each === given)) {
      return refuse(context, `${rule.of}, as of says`, { path: [given ?? ""] });
    }
    if (given && limit && others.length === 0) return { ...rule, measure: given, ...limit };
    const example = "such as occupied_ratio: { above: 0.9 }";
    return refuse(context, `one of ${poolMeasures.join(", ")}, ${example}`);
  });
