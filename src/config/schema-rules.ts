import { z } from "zod";
import { statuses } from "../fleet/model.ts";
import { targetTroubles } from "../alerts/rule.ts";
import type { FlapLimit, Hold } from "../alerts/rule.ts";
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
        polls: count(1, 1_000_000).describe(
          "The number of consecutive polls, or of consecutive runs of a probe.",
        ),
      }).transform(({ polls }): Hold => ({ kind: "polls", polls })),
    ],
    holdAllowed,
  )
  .meta({ errorMessage: holdAllowed });

const flapSchema = settings({
  changes: count(1, 1_000).describe(
    "How often the condition may start to hold within `within`. If it starts more often, the subject is flapping.",
  ),
  within: duration("1s").describe(
    "The period in which changes are counted. Flapping ends when the condition has not started to hold for this long.",
  ),
}).transform((flap): FlapLimit => ({ changes: flap.changes, withinMs: flap.within }));

const flap = flapSchema.optional().meta({
  description:
    "Flap detection: a subject that meets the condition more often than this is reported once as flapping, and once when it has settled.",
  leftOut: "none: every incident is notified",
});

const serverRuleSchema = settings({
  name: ruleName(),
  on: z.literal("server").describe("The condition holds while a server has the `status`."),
  severity: severity("critical"),
  status: oneOf(statuses).describe("The status."),
  for: holdSchema
    .prefault("0s")
    .describe("How long the condition must hold before the incident fires."),
  flap,
  match: serverMatchSchema
    .prefault({})
    .describe("Limits the rule to servers that match every given field."),
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
  on: z
    .literal("target")
    .describe(
      "The condition holds while a target cannot be observed completely: polls fail, the key is refused, or listings are partial.",
    ),
  severity: severity("warning"),
  failing: holdSchema.optional().meta({
    description:
      "How long polls must fail, for any reason, before the incident fires. Exactly one of `failing`, `auth` and `partial` is set.",
    leftOut: "required without another of the three",
  }),
  auth: holdSchema.optional().meta({
    description: "How long the service must refuse the key (401 or 403) before the incident fires.",
    leftOut: "required without another of the three",
  }),
  partial: holdSchema.optional().meta({
    description: "How long listings must be partial before the incident fires.",
    leftOut: "required without another of the three",
  }),
  match: targetMatchSchema
    .prefault({})
    .describe("Limits the rule to targets that match every given field."),
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
  on: z
    .literal("probe")
    .describe(
      "The condition holds while the runs of a probe fail. At least one probe must be configured.",
    ),
  severity: severity("warning"),
  failing: holdSchema.describe("How long runs must fail before the incident fires."),
  flap,
  match: probeMatchSchema
    .prefault({})
    .describe("Limits the rule to probes that match every given field."),
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
