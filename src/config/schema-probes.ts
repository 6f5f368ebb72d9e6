import { z } from "zod";
import type { FieldExpectation, FieldMust } from "../alerts/probe-expectation.ts";
import { fieldPathPattern, parseFieldPath } from "../alerts/probe-expectation.ts";
import {
  operationNames,
  operationOf,
  takesId,
  type OperationName,
} from "../fleet/operation-names.ts";
import type { Target } from "../fleet/model.ts";
import { canStandInPath } from "../service/operations.ts";
import { count, flag, name, namesOf, numberIn, oneOf, optional, refuse } from "./fields.ts";
import { scalar, settings, textLike } from "./fields.ts";
import { oneSchedule, refuseTwoSchedules, scheduleSettings } from "./schedule-fields.ts";

const longestId = 512;
const idAllowed = `an id of at most ${longestId} characters (numbers quoted), other than . and ..`;

const idSchema = scalar(idAllowed, (value) =>
  typeof value === "string" && value.length <= longestId && canStandInPath(value)
    ? value
    : undefined,
).meta({ type: "string", minLength: 1, maxLength: longestId, not: { enum: [".", ".."] } });

const statusAllowed = "an HTTP status from 200 to 499, except 429";

const statusSchema = scalar(statusAllowed, (value) => {
  const status = numberIn(value, /^\d{3}$/);
  return Number.isInteger(status) && status >= 200 && status <= 499 && status !== 429
    ? status
    : undefined;
}).meta({
  ...textLike(/^\d{3}$/),
  type: ["integer", "string"],
  minimum: 200,
  maximum: 499,
  not: { const: 429 },
});

const mustAllowed = "a value to be equal to, { present: true } or { absent: true }";
const pathAllowed = "a path to a field, such as data.plans.0.name (\\. for a dot in a name)";
const fieldsAllowed = `a mapping from paths to ${mustAllowed}`;

const fieldsSchema = z
  .unknown()
  .transform((value, context): readonly FieldExpectation[] => {
    if (!isMapping(value)) return refuse(context, fieldsAllowed);
    return Object.entries(value).map(([written, each]: [string, unknown]): FieldExpectation => {
      const path = parseFieldPath(written);
      const must = readMust(each);
      if (path && must) return { path, must };
      return refuse(context, path ? mustAllowed : pathAllowed, { path: [written] });
    });
  })
  .meta({
    type: "object",
    propertyNames: { pattern: fieldPathPattern.source, errorMessage: pathAllowed },
    additionalProperties: {
      anyOf: [
        { type: ["string", "number", "boolean", "null"] },
        ...["present", "absent"].map((must) => ({
          type: "object",
          properties: { [must]: { const: true } },
          required: [must],
          additionalProperties: false,
        })),
      ],
      errorMessage: mustAllowed,
    },
    errorMessage: fieldsAllowed,
  });

function readMust(value: unknown): FieldMust | undefined {
  if (typeof value === "string" || typeof value === "boolean" || value === null) {
    return { be: "equal", to: value };
  }
  if (typeof value === "number") {
    return Number.isFinite(value) ? { be: "equal", to: value } : undefined;
  }
  if (!isMapping(value)) return undefined;
  const [only, ...others] = Object.entries(value);
  if (!only || others.length > 0 || only[1] !== true) return undefined;
  return only[0] === "present" || only[0] === "absent" ? { be: only[0] } : undefined;
}

function isMapping(value: unknown): value is object {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

export const someOf = (what: string, purpose: string) =>
  namesOf(what)
    .min(1, `at least one ${what}; omit the setting for every ${what}`)
    .optional()
    .meta({
      description: `The ${what}s ${purpose}. A key is used in its own regions only.`,
      defaultText: `every ${what}`,
    });

export const probeSchema = settings({
  name: name().describe(
    "The name of the probe in metrics, messages, commands and the API. It must be unique.",
  ),
  operation: oneOf(operationNames).describe("The operation, named as in `sandwatch lookup`."),
  id: optional(
    idSchema,
    "required by operations that take an id",
    "The id to look up. `user`, `universe-data` and `white-label` require it; the other operations take none. It can identify a person, so it appears in no metric, log, message, page or API response.",
  ),
  regions: someOf("region", "for which the probe runs"),
  keys: someOf("key", "for which the probe runs"),
  ...scheduleSettings("When the probe runs", "60s"),
  expect: settings({
    status: statusSchema
      .prefault(200)
      .describe(
        "The expected HTTP status. With a refusal such as 404 nothing else can be expected.",
      ),
    success: optional(
      flag(),
      "`true` for `white-label` with status 200",
      "For `white-label`: the value that `success` must have in the response.",
    ),
    atLeast: optional(
      count(1, 1_000_000_000),
      "any number",
      "For `universes` and `sandboxes`: the least number that the response must list.",
    ),
    fields: fieldsSchema
      .prefault({})
      .describe(
        "Fields of the JSON by their paths: the value that each must have, `{ present: true }` or `{ absent: true }`.",
      ),
  })
    .prefault({})
    .describe("What is expected of the response. All given expectations must be met."),
})
  .meta({ allOf: [oneSchedule] })
  .superRefine(refuseTwoSchedules)
  .superRefine(({ operation, id, expect: { status, success, atLeast, fields } }, context) => {
    if (takesId(operation) && id === null) {
      refuse(context, `the id that ${operation} asks for`, { path: ["id"] });
    }
    if (!takesId(operation) && id !== null) {
      refuse(context, `nothing: ${operation} takes no id`, { path: ["id"] });
    }
    const expected: readonly (readonly [string, boolean, readonly OperationName[]])[] = [
      ["success", success !== null, ["white-label"]],
      ["at_least", atLeast !== null, ["universes", "sandboxes"]],
      ["fields", fields.length > 0, operationNames],
    ];
    for (const [setting, isGiven, words] of expected) {
      const path = ["expect", setting];
      if (!isGiven) continue;
      if (status !== 200)
        refuse(context, "no other expectation with a status other than 200", { path });
      else if (!words.includes(operation)) {
        refuse(context, `nothing: it is for operation ${words.join(", ")}`, { path });
      }
    }
  })
  .transform(({ operation, expect, ...probe }) => {
    // A response to white-label that says there is none is no success.
    const mustSucceed = operation === "white-label" && expect.status === 200 ? true : null;
    return {
      ...probe,
      operation: operationOf(operation),
      expect: { ...expect, success: expect.success ?? mustSucceed },
    };
  });

/** The targets for which a probe runs. */
export function targetsOf(
  { regions, keys }: Pick<z.output<typeof probeSchema>, "regions" | "keys">,
  targets: readonly Target[],
): readonly Target[] {
  return targets.filter(
    ({ region, key }) => (regions?.includes(region) ?? true) && (keys?.includes(key) ?? true),
  );
}
