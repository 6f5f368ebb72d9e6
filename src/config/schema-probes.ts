import { z } from "zod";
import { lookupWords, operationOf } from "../core/lookup-words.ts";
import type { Expectation, FieldExpectation, FieldMust } from "../core/probe-expectation.ts";
import { parseFieldPath } from "../core/probe-field.ts";
import { canStandInPath } from "../service/operation-path.ts";
import { count, flag, name, oneOf, scalar, settings, text } from "./fields.ts";
import { scheduleSettings } from "./schedule-fields.ts";

const longestId = 512;
const idAllowed = `an id of at most ${longestId} characters (numbers quoted), other than . and ..`;

const idSchema = scalar(idAllowed, (value) =>
  typeof value === "string" && value.length <= longestId && canStandInPath(value)
    ? value
    : undefined,
);

const statusAllowed =
  "an HTTP status from 200 to 499 other than 429, which asks for patience and tells of no answer";

const statusSchema = scalar(statusAllowed, (value) => {
  const status = typeof value === "string" && /^\d{3}$/.test(value) ? Number(value) : value;
  if (typeof status !== "number" || !Number.isInteger(status)) return undefined;
  return status >= 200 && status <= 499 && status !== 429 ? status : undefined;
});

const mustAllowed = "a value to be equal to, { present: true } or { absent: true }";
const pathAllowed = "a path to a field, such as data.plans.0.name (\\. for a dot in a name)";

const fieldsSchema = z.unknown().transform((value, context): readonly FieldExpectation[] => {
  if (!isMapping(value)) {
    context.addIssue({ code: "custom", message: `a mapping from paths to ${mustAllowed}` });
    return z.NEVER;
  }
  return Object.entries(value).map(([written, each]: [string, unknown]): FieldExpectation => {
    const path = parseFieldPath(written);
    const must = readMust(each);
    if (path && must) return { path, must };
    const message = path ? mustAllowed : pathAllowed;
    context.addIssue({ code: "custom", message, path: [written] });
    return z.NEVER;
  });
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

const namesOf = (what: string) =>
  z
    .array(text(`the name of a configured ${what}`), `a list of ${what}s`)
    .min(1, `at least one ${what}; left out: every ${what}`)
    .optional();

/** What its settings say of one another: `checkProbes`. */
export const probeSchema = settings({
  name: name(),
  operation: oneOf(lookupWords),
  id: idSchema.optional(),
  regions: namesOf("region"),
  keys: namesOf("key"),
  ...scheduleSettings,
  expect: settings({
    status: statusSchema.default(200),
    success: flag().optional(),
    at_least: count(1, 1_000_000_000).optional(),
    fields: fieldsSchema.default([]),
  }).prefault({}),
}).transform(({ id, schedule, every, ...probe }) => {
  const { status, success, at_least: atLeast, fields } = probe.expect;
  const operation = operationOf(probe.operation);
  // Whoever asks for a white label and is told that there is none was not served.
  const mustSay = operation === "get_white_label" && status === 200 ? true : null;
  const expect: Expectation = {
    status,
    success: success ?? mustSay,
    atLeast: atLeast ?? null,
    fields,
  };
  return {
    name: probe.name,
    operation,
    id: id ?? null,
    regions: probe.regions,
    keys: probe.keys,
    schedule: every ?? schedule ?? ({ kind: "every", ms: 60_000 } as const),
    expect,
  };
});
