import { z } from "zod";
import { statuses } from "../core/model.ts";
import { targetTroubles } from "../core/rule.ts";
import type { FlapLimit, Hold } from "../core/rule.ts";
import { count, duration, oneOf, settings } from "./fields.ts";
import { commonOf, commonSettings, probeMatchSchema, ruleName } from "./rule-fields.ts";
import { serverMatchSchema, severity, targetMatchSchema } from "./rule-fields.ts";
import { poolRuleSchema } from "./schema-pool-rule.ts";
import { oneOfSettings } from "./written.ts";

const holdAllowed = "a duration such as 30s or 1h30m, or { polls: 3 }";

const holdSchema = z
  .union(
    [
      duration("0s").transform((ms): Hold => ({ kind: "duration", ms })),
      settings({
        polls: count(1, 1_000_000).describe("So many polls, or runs of a probe, in a row."),
      }).transform(({ polls }): Hold => ({ kind: "polls", polls })),
    ],
    holdAllowed,
  )
  .meta({ errorMessage: holdAllowed });

const flapSchema = settings({
  changes: count(1, 1_000).describe(
    "How many times it may come into the condition within `within`; more is flapping.",
  ),
  within: duration("1s").describe("In which time. It has settled when it stayed out for as long."),
}).transform((flap): FlapLimit => ({ changes: flap.changes, withinMs: flap.within }));

const flap = flapSchema.optional().meta({
  description:
    "What comes into the condition more often than this is told of as flapping: once, and once when it settled.",
  leftOut: "every time is told",
});

const serverRuleSchema = settings({
  name: ruleName(),
  on: z.literal("server").describe("Holds while a server shows the `status`."),
  severity: severity("critical"),
  status: oneOf(statuses).describe("Which one."),
  for: holdSchema.prefault("0s").describe("How long it must last before it is told."),
  flap,
  match: serverMatchSchema.prefault({}).describe("Which servers; all that are given must fit."),
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
  name: ruleName(),
  on: z.literal("target").describe("Holds while a key does not see all of a region."),
  severity: severity("warning"),
  failing: holdSchema.optional().meta({
    description: "For how long polls must have failed, whatever for. This, `auth` or `partial`.",
    leftOut: "only beside another of the three",
  }),
  auth: holdSchema.optional().meta({
    description: "For how long the service must have refused the key (401, 403).",
    leftOut: "only beside another of the three",
  }),
  partial: holdSchema.optional().meta({
    description: "For how long listings must have been partial.",
    leftOut: "only beside another of the three",
  }),
  match: targetMatchSchema.prefault({}).describe("Which targets; all that are given must fit."),
  ...commonSettings,
})
  .meta({ allOf: [oneOfSettings(targetTroubles)] })
  .transform(({ failing, auth, partial, ...rule }, context) => {
    const holds = { failing, auth, partial };
    const [trouble, ...others] = targetTroubles.filter((each) => holds[each] !== undefined);
    const hold = trouble && holds[trouble];
    if (trouble === undefined || hold === undefined || others.length > 0) {
      const message =
        "one of failing (any failure), auth (a refused key) and partial (partial listings), such as { polls: 3 }";
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
  name: ruleName(),
  on: z.literal("probe").describe("Holds while the runs of a probe fail. There must be probes."),
  severity: severity("warning"),
  failing: holdSchema.describe("For how long runs must have failed."),
  flap,
  match: probeMatchSchema.prefault({}).describe("Which probes; all that are given must fit."),
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
