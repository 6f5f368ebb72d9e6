import { z } from "zod";
import { statuses } from "../core/model.ts";
import { severities } from "../core/rule.ts";
import type { FlapLimit, Hold } from "../core/rule.ts";
import { count, duration, name, oneOf, settings } from "./fields.ts";
import { commonOf, commonSettings, probeMatchSchema } from "./rule-fields.ts";
import { serverMatchSchema, targetMatchSchema } from "./rule-fields.ts";
import { poolRuleSchema } from "./schema-pool-rule.ts";

const holdSchema = z.union(
  [
    duration("0s").transform((ms): Hold => ({ kind: "duration", ms })),
    settings({ polls: count(1, 1_000_000) }).transform(({ polls }): Hold => ({
      kind: "polls",
      polls,
    })),
  ],
  "a duration such as 30s or 1h30m, or { polls: 3 }",
);

const flapSchema = settings({
  changes: count(1, 1_000),
  within: duration("1s"),
}).transform((flap): FlapLimit => ({ changes: flap.changes, withinMs: flap.within }));

const serverRuleSchema = settings({
  name: name(),
  on: z.literal("server"),
  severity: oneOf(severities).default("critical"),
  status: oneOf(statuses),
  for: holdSchema.prefault("0s"),
  flap: flapSchema.optional(),
  match: serverMatchSchema.prefault({}),
  ...commonSettings,
}).transform((rule) => ({
  ...commonOf(rule),
  on: rule.on,
  severity: rule.severity,
  status: rule.status,
  for: rule.for,
  flap: rule.flap ?? null,
  match: rule.match,
}));

const targetRuleSchema = settings({
  name: name(),
  on: z.literal("target"),
  severity: oneOf(severities).default("warning"),
  failing: holdSchema.optional(),
  auth: holdSchema.optional(),
  match: targetMatchSchema.prefault({}),
  ...commonSettings,
}).transform(({ failing, auth, ...rule }, context) => {
  const trouble = auth === undefined ? ("failing" as const) : ("auth" as const);
  const hold = auth ?? failing;
  if (hold === undefined || (auth !== undefined && failing !== undefined)) {
    const message = "either failing (any failure) or auth (a refused key), such as { polls: 3 }";
    context.addIssue({ code: "custom", message, path: ["failing"] });
    return z.NEVER;
  }
  return {
    ...commonOf(rule),
    on: rule.on,
    severity: rule.severity,
    trouble,
    for: hold,
    match: rule.match,
  };
});

const probeRuleSchema = settings({
  name: name(),
  on: z.literal("probe"),
  severity: oneOf(severities).default("warning"),
  failing: holdSchema,
  flap: flapSchema.optional(),
  match: probeMatchSchema.prefault({}),
  ...commonSettings,
}).transform((rule) => ({
  ...commonOf(rule),
  on: rule.on,
  severity: rule.severity,
  for: rule.failing,
  flap: rule.flap ?? null,
  match: rule.match,
}));

export const ruleSchema = z.discriminatedUnion(
  "on",
  [serverRuleSchema, targetRuleSchema, poolRuleSchema, probeRuleSchema],
  {
    error: (issue) =>
      issue.code === "invalid_union" ? "server, target, pool or probe" : "a mapping",
  },
);
