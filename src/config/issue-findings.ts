import type { z } from "zod";
import { describe, describeKind, isPublic, valueAt, type Evidence } from "./evidence.ts";
import { pathText, type Finding, type Path } from "./faults.ts";
import { knownSettings, namePattern } from "./fields.ts";
import { nearestName } from "./nearest-name.ts";

/** Turns what zod complains of into findings, one for each setting. */
export function issueFindings(issue: z.core.$ZodIssue, evidence: Evidence): Finding[] {
  const path = issue.path.map((part) => (typeof part === "number" ? part : String(part)));
  if (issue.code === "unrecognized_keys") {
    const known = knownSettings(issue.message);
    return issue.keys.map((key) => ({
      path: [...path, key],
      found: "an unknown setting",
      allowed: known.join(", "),
      suggestion: nearestName(key, known),
    }));
  }
  return [
    {
      path,
      found: foundBy(issue, evidence, path),
      allowed: issue.message,
      suggestion: suggestion(valueAt(evidence.value, path), namesKnownTo(issue)),
    },
  ];
}

function foundBy(issue: z.core.$ZodIssue, evidence: Evidence, path: Path): string {
  // The only format is that of a region's name, and the path ends in it.
  if (issue.code === "invalid_format") return "a name that is not allowed";
  if (issue.code === "invalid_type") return describeKind(valueAt(evidence.value, path));
  const found = describe(evidence, path);
  const isRightAsText = issue.code === "custom" && issue.params?.["isRightAsText"] === true;
  return isRightAsText ? `${found}${howToQuote(valueAt(evidence.value, path))}` : found;
}

function howToQuote(value: unknown): string {
  return value === null
    ? " (an empty value, or null without quotes)"
    : `, which YAML reads as a ${typeof value}: quote it`;
}

function namesKnownTo(issue: z.core.$ZodIssue): readonly unknown[] {
  if ("options" in issue && Array.isArray(issue.options)) return issue.options;
  const known: unknown = issue.code === "custom" ? issue.params?.["known"] : undefined;
  return Array.isArray(known) ? known : [];
}

function suggestion(value: unknown, known: readonly unknown[]): string | null {
  if (typeof value !== "string") return null;
  return nearestName(
    value,
    known.filter((name) => typeof name === "string"),
  );
}

/** One of several settings of the same kind: a key's name, a region that a rule names. */
export interface Mention {
  readonly path: Path;
  readonly value: string | undefined;
}

/** Each value that stands a second time. */
export function repeatedFindings(
  mentions: readonly Mention[],
  evidence: Evidence,
  allowed: string,
): Finding[] {
  const first = new Map<string, Path>();
  return mentions.flatMap(({ path, value }) => {
    const earlier = value === undefined ? undefined : first.get(value);
    if (value !== undefined && !earlier) first.set(value, path);
    if (!earlier) return [];
    return [
      { path, found: `${describe(evidence, path)}, the same as ${pathText(earlier)}`, allowed },
    ];
  });
}

/** Each mention of a name that nothing configured has. */
export function unknownFindings(
  mentions: readonly Mention[],
  known: readonly Mention[],
  evidence: Evidence,
  what: string,
): Finding[] {
  // A known one may be among those that could not be read: then nothing is said.
  if (known.some((mention) => mention.value === undefined)) return [];
  const values = new Set(known.map((mention) => mention.value));
  const shown = known
    .filter((mention) => isPublic(evidence, mention.path))
    .flatMap((mention) => mention.value ?? [])
    .filter((value) => namePattern.test(value));
  const list = shown.length === 0 ? "" : `: ${shown.slice(0, 20).join(", ")}`;
  return mentions
    .filter((mention) => mention.value !== undefined && !values.has(mention.value))
    .map(({ path, value }) => ({
      path,
      found: describe(evidence, path),
      allowed: `the name of a configured ${what}${list}`,
      suggestion: value === undefined ? null : nearestName(value, shown),
    }));
}
