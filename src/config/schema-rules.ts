import { z } from "zod";
import { targetTroubles, type Hold } from "../alerts/rule.ts";
import { statuses } from "../fleet/model.ts";
import {
  count,
  duration,
  flag,
  oneOf,
  oneOfSettings,
  optional,
  refuse,
  settings,
} from "./fields.ts";
import { patternsOf, probePatterns, ruleSettings, serverNamePatterns } from "./rule-fields.ts";
import { serverPatterns, targetPatterns } from "./rule-fields.ts";
import { poolRuleSchema } from "./schema-pool-rule.ts";

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
    "How often the condition may hold within `within`. If it holds more often, the subject is flapping.",
  ),
  withinMs: duration("1s").describe(
    "The period in which that is counted. Flapping ends when the condition has not begun to hold for this long.",
  ),
  firingOnly: flag()
    .prefault(false)
    .describe(
      "Counts only the times at which the incident fired. Otherwise a subject flaps, too, that never meets the condition for as long as the rule requires.",
    ),
});

const flap = optional(
  flapSchema,
  "none: every incident is notified",
  "Flap detection: a subject that meets the condition more often than this is reported once as flapping, and once when it has settled.",
);

const statusSettings = {
  status: oneOf(statuses).describe("The status."),
  for: holdSchema
    .prefault("0s")
    .describe("How long the condition must hold before the incident fires."),
  flap,
};

const serverRuleSchema = ruleSettings(
  "server",
  "The condition holds while a server has the `status`.",
  "critical",
  {
    ...statusSettings,
    match: settings({ ...targetPatterns, serverName: serverNamePatterns, ...serverPatterns })
      .prefault({})
      .describe("Limits the rule to servers that match every given field."),
  },
);

const sandboxRuleSchema = ruleSettings(
  "sandbox",
  "The condition holds while a sandbox states the `status` itself. While an incident of one of its servers with the same status fires, receivers are not notified of the sandbox.",
  "critical",
  {
    ...statusSettings,
    match: settings({
      ...targetPatterns,
      benchmark: patternsOf("Benchmarks of sandboxes (`benchmark`)."),
      serverName: patternsOf("Names of servers (`server_name`) of which a sandbox has one."),
      tag: patternsOf("Tags of servers of which a sandbox has one."),
    })
      .prefault({})
      .describe(
        "Limits the rule to sandboxes that match every given field. With both `server_name` and `tag`, one server must match both.",
      ),
  },
);

const oneTrouble = (description: string) =>
  optional(holdSchema, "required without another of the three", description);

const targetRuleSchema = ruleSettings(
  "target",
  "The condition holds while a target cannot be observed completely: polls fail, the key is refused, or listings are partial.",
  "warning",
  {
    failing: oneTrouble(
      "How long polls must fail, for any reason, before the incident fires. Exactly one of `failing`, `auth` and `partial` is set.",
    ),
    auth: oneTrouble(
      "How long the service must refuse the key (401 or 403) before the incident fires.",
    ),
    partial: oneTrouble("How long listings must be partial before the incident fires."),
    flap,
    match: settings(targetPatterns)
      .prefault({})
      .describe("Limits the rule to targets that match every given field."),
  },
)
  .meta({ allOf: [oneOfSettings(targetTroubles)] })
  .transform(({ failing, auth, partial, ...rule }, context) => {
    const holds = { failing, auth, partial };
    const [trouble, ...others] = targetTroubles.filter((each) => holds[each] !== null);
    const hold = trouble && holds[trouble];
    if (trouble && hold && others.length === 0) return { ...rule, trouble, for: hold };
    const allowed =
      "one of failing (any failure), auth (a refused key) and partial (partial listings), such as { polls: 3 }";
    return refuse(context, allowed, { path: ["failing"] });
  });

const regionRuleSchema = ruleSettings(
  "region",
  "The condition holds while at least half of the targets of a region fail, and at least two. They are then not notified one by one.",
  "critical",
  {
    failing: holdSchema.describe(
      "How long the polls of one of them must fail before the incident fires. It must be shorter than in rules on targets, or these fire first.",
    ),
    flap,
    match: settings(targetPatterns)
      .prefault({})
      .describe("Limits the rule to targets that match every given field."),
  },
).transform(({ failing, ...rule }) => ({ ...rule, for: failing }));

const probeRuleSchema = ruleSettings(
  "probe",
  "The condition holds while the runs of a probe fail. At least one probe must be configured.",
  "warning",
  {
    failing: holdSchema.describe("How long runs must fail before the incident fires."),
    flap,
    match: settings({ probe: probePatterns, ...targetPatterns })
      .prefault({})
      .describe("Limits the rule to probes that match every given field."),
  },
).transform(({ failing, ...rule }) => ({ ...rule, for: failing }));

export const ruleSchema = z.discriminatedUnion(
  "on",
  [
    serverRuleSchema,
    sandboxRuleSchema,
    targetRuleSchema,
    regionRuleSchema,
    poolRuleSchema,
    probeRuleSchema,
  ],
  {
    error: (issue) =>
      issue.code === "invalid_union"
        ? "server, sandbox, target, region, pool or probe"
        : "a mapping",
  },
);
