import { z } from "zod";
import { statuses } from "../core/model.ts";
import { severities } from "../core/rule.ts";
import type { FlapLimit, Hold, Match } from "../core/rule.ts";
import { placeholders, placeholdersIn } from "../core/template.ts";
import { count, duration, name, oneOf, scalar, settings, text } from "./fields.ts";

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

const patternsAllowed = "a name or a list of names, * standing for any characters (numbers quoted)";

const patternsSchema = z.unknown().transform((value, context): readonly string[] => {
  const patterns: readonly unknown[] = Array.isArray(value) ? value : [value];
  const isPattern = (pattern: unknown): pattern is string =>
    typeof pattern === "string" && pattern !== "";
  if (patterns.length > 0 && patterns.every(isPattern)) return patterns;
  const wrong = Array.isArray(value) ? patterns.findIndex((pattern) => !isPattern(pattern)) : -1;
  const path = wrong === -1 ? [] : [wrong];
  context.addIssue({ code: "custom", message: patternsAllowed, path });
  return z.NEVER;
});

const targetMatchSchema = settings({
  region: patternsSchema.exactOptional(),
  key: patternsSchema.exactOptional(),
});

const serverMatchSchema = settings({
  region: patternsSchema.exactOptional(),
  key: patternsSchema.exactOptional(),
  server_name: patternsSchema.exactOptional(),
  benchmark: patternsSchema.exactOptional(),
  tag: patternsSchema.exactOptional(),
}).transform(({ server_name: serverName, ...rest }): Match =>
  serverName === undefined ? rest : { ...rest, serverName },
);

const templateAllowed = `text with placeholders among ${placeholders.map((each) => `{${each}}`).join(", ")}`;

const templateSchema = scalar(templateAllowed, (value) =>
  typeof value === "string" && value !== "" && placeholdersIn(value).every(isPlaceholder)
    ? value
    : undefined,
);

function isPlaceholder(text: string): boolean {
  return placeholders.some((each) => each === text);
}

const runbookSchema = scalar(`an https or http address; ${templateAllowed}`, (value) =>
  typeof value === "string" &&
  /^https?:\/\/[^{}]/.test(value) &&
  placeholdersIn(value).every(isPlaceholder)
    ? value
    : undefined,
);

const common = {
  summary: templateSchema.optional(),
  runbook_url: runbookSchema.optional(),
  keep_firing_for: duration("0s").default(0),
  remind_every: duration("1s").optional(),
  receivers: z
    .array(text("the name of a configured receiver"), "a list of receivers")
    .readonly()
    .optional(),
};

interface CommonSettings {
  readonly name: string;
  readonly keep_firing_for: number;
  readonly remind_every?: number | undefined;
  readonly receivers?: readonly string[] | undefined;
  readonly summary?: string | undefined;
  readonly runbook_url?: string | undefined;
}

function commonOf(rule: CommonSettings): {
  readonly name: string;
  readonly keepFiringForMs: number;
  readonly remindEveryMs: number | null;
  readonly receivers: readonly string[] | undefined;
  readonly summaryTemplate: string | null;
  readonly runbookUrlTemplate: string | null;
} {
  return {
    name: rule.name,
    keepFiringForMs: rule.keep_firing_for,
    remindEveryMs: rule.remind_every ?? null,
    receivers: rule.receivers,
    summaryTemplate: rule.summary ?? null,
    runbookUrlTemplate: rule.runbook_url ?? null,
  };
}

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
  ...common,
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
  ...common,
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

export const ruleSchema = z.discriminatedUnion("on", [serverRuleSchema, targetRuleSchema], {
  error: (issue) =>
    issue.code === "invalid_union"
      ? "server or target (this version does not know rules on pools and probes)"
      : "a mapping",
});
