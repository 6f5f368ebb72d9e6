import { z } from "zod";
import type { Match } from "../core/rule.ts";
import { placeholders, placeholdersIn } from "../core/template.ts";
import { duration, scalar, settings, text } from "./fields.ts";

const patternsAllowed = "a name or a list of names, * standing for any characters (numbers quoted)";

export const patternsSchema = z.unknown().transform((value, context): readonly string[] => {
  const patterns: readonly unknown[] = Array.isArray(value) ? value : [value];
  const isPattern = (pattern: unknown): pattern is string =>
    typeof pattern === "string" && pattern !== "";
  if (patterns.length > 0 && patterns.every(isPattern)) return patterns;
  const wrong = Array.isArray(value) ? patterns.findIndex((pattern) => !isPattern(pattern)) : -1;
  const path = wrong === -1 ? [] : [wrong];
  context.addIssue({ code: "custom", message: patternsAllowed, path });
  return z.NEVER;
});

export const targetMatchSchema = settings({
  region: patternsSchema.exactOptional(),
  key: patternsSchema.exactOptional(),
});

export const probeMatchSchema = settings({
  probe: patternsSchema.exactOptional(),
  region: patternsSchema.exactOptional(),
  key: patternsSchema.exactOptional(),
});

export const poolMatchSchema = settings({
  region: patternsSchema.exactOptional(),
  key: patternsSchema.exactOptional(),
  server_name: patternsSchema.exactOptional(),
}).transform(({ server_name: serverName, ...rest }): Match =>
  serverName === undefined ? rest : { ...rest, serverName },
);

export const serverMatchSchema = settings({
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

function isPlaceholder(word: string): boolean {
  return placeholders.some((each) => each === word);
}

const runbookAllowed = `an https or http address, its host without placeholders; ${templateAllowed}`;

const runbookSchema = scalar(runbookAllowed, (value) =>
  typeof value === "string" &&
  /^https?:\/\/[^{}/?#\\]+(?:[/?#]|$)/.test(value) &&
  placeholdersIn(value).every(isPlaceholder)
    ? value
    : undefined,
);

export const commonSettings = {
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

export function commonOf(rule: CommonSettings): {
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
