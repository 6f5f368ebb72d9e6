import { z } from "zod";
import { severities } from "../alerts/rule.ts";
import type { Match, Severity } from "../alerts/rule.ts";
import { placeholders, placeholdersIn } from "../alerts/template.ts";
import { duration, name, namesOf, oneOf, readsAsText, scalar, settings } from "./fields.ts";
import { textLike } from "./written.ts";

const patternsAllowed = "a name or a list of names, with * for any characters (numbers quoted)";

/** One of them, or a list with at least one. */
export function listOrOne(item: object) {
  return { anyOf: [item, { type: "array", items: item, minItems: 1 }] };
}

export const patternsSchema = z
  .unknown()
  .transform((value, context): readonly string[] => {
    const patterns: readonly unknown[] = Array.isArray(value) ? value : [value];
    const isPattern = (pattern: unknown): pattern is string =>
      typeof pattern === "string" && pattern !== "";
    if (patterns.length > 0 && patterns.every(isPattern)) return patterns;
    const wrong = Array.isArray(value) ? patterns.findIndex((pattern) => !isPattern(pattern)) : -1;
    const path = wrong === -1 ? [] : [wrong];
    const found = wrong === -1 ? value : patterns[wrong];
    const isRightAsText = readsAsText(found, (text) => text);
    context.addIssue({ code: "custom", message: patternsAllowed, path, params: { isRightAsText } });
    return z.NEVER;
  })
  .meta({ ...listOrOne({ type: "string", minLength: 1 }), errorMessage: patternsAllowed });

export const regionPatterns = named("Names of regions. A name without `*` must be configured.");
export const keyPatterns = named("Names of keys. A name without `*` must be configured.");
export const serverNamePatterns = named("Names of servers (`server_name`).");
export const benchmarkPatterns = named("Benchmarks of servers (`benchmark`).");
export const tagPatterns = named("Tags of servers. One matching tag is enough.");

/** Of things to which a condition is narrowed. */
export function named(description: string) {
  return patternsSchema.exactOptional().meta({ description, leftOut: "all" });
}

const targetFields = { region: regionPatterns, key: keyPatterns };

export const targetMatchSchema = settings(targetFields);

export const probeMatchSchema = settings({
  probe: named("Names of probes. A name without `*` must be configured."),
  ...targetFields,
});

export const poolMatchSchema = settings({
  ...targetFields,
  server_name: serverNamePatterns,
}).transform(({ server_name: serverName, ...rest }): Match =>
  serverName === undefined ? rest : { ...rest, serverName },
);

export const serverMatchSchema = settings({
  ...targetFields,
  server_name: serverNamePatterns,
  benchmark: benchmarkPatterns,
  tag: tagPatterns,
}).transform(({ server_name: serverName, ...rest }): Match =>
  serverName === undefined ? rest : { ...rest, serverName },
);

const templateAllowed = `text with placeholders among ${placeholders.map((each) => `{${each}}`).join(", ")}`;

/** No braces around another word. */
const knownPlaceholders = String.raw`(?![\s\S]*\{(?!(?:${placeholders.join("|")})\})[^{}]*\})`;

const templateSchema = scalar(templateAllowed, (value) =>
  typeof value === "string" && value !== "" && placeholdersIn(value).every(isPlaceholder)
    ? value
    : undefined,
).meta(textLike(new RegExp(`^${knownPlaceholders}[\\s\\S]+$`)));

function isPlaceholder(word: string): boolean {
  return placeholders.some((each) => each === word);
}

const runbookAllowed = `an https or http address, its host without placeholders; ${templateAllowed}`;

const runbookPattern = /^https?:\/\/[^{}/?#\\]+(?:[/?#]|$)/;

const runbookSchema = scalar(runbookAllowed, (value) =>
  typeof value === "string" &&
  runbookPattern.test(value) &&
  placeholdersIn(value).every(isPlaceholder)
    ? value
    : undefined,
).meta(textLike(new RegExp(`^${knownPlaceholders}${runbookPattern.source.slice(1)}`)));

export const ruleName = () =>
  name().describe(
    "The name of the rule in messages, metrics, commands and the API. It must be unique.",
  );

export const severity = (usual: Severity) =>
  oneOf(severities).prefault(usual).describe("The severity of its incidents.");

export const commonSettings = {
  summary: templateSchema
    .optional()
    .meta({ description: "The summary of messages.", leftOut: "a summary that sandwatch writes" }),
  runbook_url: runbookSchema
    .optional()
    .meta({ description: "The address of a runbook, which messages link to.", leftOut: "none" }),
  keep_firing_for: duration("0s")
    .prefault("0s")
    .describe("How long the condition must have ended before the incident resolves."),
  remind_every: duration("1s").optional().meta({
    description: "How often a firing incident that nobody has acknowledged is notified again.",
    leftOut: "never",
  }),
  receivers: namesOf("receiver").readonly().optional().meta({
    description:
      "The receivers that are notified, from `alerts.receivers`. Heartbeats cannot be named.",
    leftOut: "every receiver except heartbeats",
  }),
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
