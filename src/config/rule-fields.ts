import { z } from "zod";
import { severities, type Severity } from "../alerts/rule.ts";
import { placeholders, placeholdersIn } from "../alerts/template.ts";
import { duration, name, namesOf, noteOnQuotes, oneOf, optional } from "./fields.ts";
import { refuse, settings, textOf } from "./fields.ts";

const patternsAllowed = "a name or a list of names, with * for any characters (numbers quoted)";

/** One of them, or a list with at least one. */
export function listOrOne(item: object) {
  return { anyOf: [item, { type: "array", items: item, minItems: 1 }] };
}

export const patternsSchema = z
  .unknown()
  .transform((value, context): readonly string[] => {
    const isList = Array.isArray(value);
    const patterns: readonly unknown[] = isList ? value : [value];
    const isPattern = (each: unknown): each is string => typeof each === "string" && each !== "";
    if (patterns.length > 0 && patterns.every(isPattern)) return patterns;
    const wrong = patterns.findIndex((each) => !isPattern(each));
    const note = noteOnQuotes(patterns[wrong], (text) => text);
    return refuse(context, patternsAllowed, { path: isList && wrong >= 0 ? [wrong] : [], note });
  })
  .meta({ ...listOrOne({ type: "string", minLength: 1 }), errorMessage: patternsAllowed });

/** Of things to which a condition is limited. */
export function patternsOf(description: string) {
  return patternsSchema.exactOptional().meta({ description, defaultText: "all" });
}

export const probePatterns = patternsOf("Names of probes. A name without `*` must be configured.");
export const targetPatterns = {
  region: patternsOf("Names of regions. A name without `*` must be configured."),
  key: patternsOf("Names of keys. A name without `*` must be configured."),
};
export const serverNamePatterns = patternsOf("Names of servers (`server_name`).");
export const serverPatterns = {
  benchmark: patternsOf("Benchmarks of servers (`benchmark`)."),
  tag: patternsOf("Tags of servers. One matching tag is enough."),
};

const templateAllowed = `text with placeholders among ${placeholders.map((each) => `{${each}}`).join(", ")}`;

/** No braces around another word. */
const knownPlaceholders = String.raw`(?![\s\S]*\{(?!(?:${placeholders.join("|")})\})[^{}]*\})`;

function template(allowed: string, pattern: string) {
  const like = new RegExp(`^${knownPlaceholders}${pattern}`);
  return textOf(allowed, like, (text) =>
    like.test(text) && placeholdersIn(text).every((each) => placeholders.includes(each))
      ? text
      : undefined,
  );
}

/** Who else is notified of an incident that nobody acknowledges. */
export const escalationSchema = z
  .array(
    settings({
      afterMs: duration("1s").describe("For how long the incident has fired."),
      receivers: namesOf("receiver")
        .readonly()
        .describe("The receivers that are notified then, from `alerts.receivers`."),
    }),
    "a list of steps such as { after: 15m, receivers: [lead] }",
  )
  .superRefine((steps, context) => {
    for (const [index, { afterMs }] of steps.entries()) {
      const before = steps[index - 1];
      if (!before || afterMs > before.afterMs) continue;
      const note = ", which is not later than the step before";
      refuse(context, "a longer time than that of the step before", {
        path: [index, "after"],
        note,
      });
    }
  })
  .readonly();

/** @param own stands between the settings that all rules have */
export function ruleSettings<const On extends string, const Own extends z.ZodRawShape>(
  on: On,
  holds: string,
  usual: Severity,
  own: Own,
) {
  return settings({
    name: name().describe(
      "The name of the rule in messages, metrics, commands and the API. It must be unique.",
    ),
    on: z.literal(on).describe(holds),
    severity: oneOf(severities).prefault(usual).describe("The severity of its incidents."),
    ...own,
    summary: optional(
      template(templateAllowed, String.raw`[\s\S]+$`),
      "a summary that sandwatch writes",
      "The summary of messages.",
    ),
    runbookUrl: optional(
      template(
        `an https or http address, its host without placeholders; ${templateAllowed}`,
        String.raw`https?:\/\/[^{}/?#\\]+(?:[/?#]|$)`,
      ),
      "none",
      "The address of a runbook, which messages link to.",
    ),
    keepFiringForMs: duration("0s")
      .prefault("0s")
      .describe("How long the condition must not hold before the incident resolves."),
    remindEveryMs: optional(
      duration("1s"),
      "never",
      "How often a firing incident that nobody has acknowledged is notified again.",
    ),
    receivers: optional(
      namesOf("receiver").readonly(),
      "every receiver except heartbeats and those of `escalate` and `alerts.escalate`",
      "The receivers that are notified, from `alerts.receivers`. Heartbeats cannot be named.",
    ),
    escalate: optional(
      escalationSchema,
      "the value of `alerts.escalate`",
      "Who else is notified of an incident that nobody has acknowledged for a time. An empty list: nobody.",
    ),
  });
}
