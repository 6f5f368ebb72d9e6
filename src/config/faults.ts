import type { z } from "zod";
import { fromFile, unknownSettings } from "./fields.ts";
import { nearestName } from "./nearest-name.ts";

/** Where a setting stands: names of mappings and indexes of lists, from the top. */
export type Path = readonly (string | number)[];

/** Line and column in the file, both counted from one. */
export interface Position {
  readonly line: number;
  readonly column: number;
}

/** What is wrong with one setting. No text in it holds a secret or a value out of `${...}`. */
export interface Fault {
  /** Such as `alerts.rules[0].for`; empty for the file as a whole. */
  readonly path: string;
  readonly found: string;
  readonly allowed: string;
  /** The nearest known name, when the one found looks misspelt. */
  readonly suggestion?: string | null;
  /** Null when the configuration did not come from a file, or the position is not known. */
  readonly position?: Position | null;
}

/** A fault whose position is not looked up yet. Its path may hold a secret that is misplaced. */
export interface Finding extends Omit<Fault, "path"> {
  readonly path: Path;
}

/** A value that stands in the file as a reference: what is shown for it, and where it is written. */
export interface Origin {
  readonly shown: string;
  readonly path: Path;
}

/** A configuration as it was found, and what is known of it. */
export interface Evidence {
  readonly value: unknown;
  /** By `pathKey`. */
  readonly origins: ReadonlyMap<string, Origin>;
}

/** The path as a key for maps and sets, unlike `pathText` never the same for two paths. */
export function pathKey(path: Path): string {
  return JSON.stringify(path);
}

/**
 * Names are shown only if they consist of words, which random text does not: what stands in a name's place may be a
 * secret. Between the words there is one of `_ . -`, and each may end in a number (`us-east-1`, `5m`).
 */
const word = /(?:[A-Z]?[a-z]+(?:[A-Z][a-z]{2,})*|[A-Z]+)\d{0,3}|\d{1,3}[a-z]?/.source;
const plainName = new RegExp(`^(?=.{1,40}$)(?:${word})(?:[_.-](?:${word}))*$`);

export function isPlainName(name: string): boolean {
  return plainName.test(name);
}

/** One or two such names. More words may be a passphrase. */
function isPlainText(text: string): boolean {
  const names = text.split(" ");
  return names.length <= 2 && names.every(isPlainName);
}

function pathText(path: Path): string {
  return path
    .map((part, index) => {
      if (typeof part === "number") return `[${part}]`;
      if (!isPlainName(part)) return "[a name that is not shown]";
      if (part.includes(".")) return `["${part}"]`;
      return index === 0 ? part : `.${part}`;
    })
    .join("");
}

/** More are not looked at: to describe each of thousands would take minutes. */
const mostFaults = 50;

/** All faults of a configuration as lines for a person. */
export function formatFaults(file: string, faults: readonly Fault[]): string {
  const shown = faults.slice(0, mostFaults);
  const count = faults.length === 1 ? "1 error" : `${faults.length} errors`;
  const all = faults.length === shown.length ? count : `more than ${shown.length} errors`;
  const lines = shown.map(({ position, path, found, allowed, suggestion }) => {
    const at = [position && `${position.line}:${position.column}`, path].filter(Boolean);
    const where = at.length === 0 ? "" : `${at.join(" ")}: `;
    const hint = suggestion ? `; did you mean "${suggestion}"?` : "";
    return `  ${where}found ${found}; allowed: ${allowed}${hint}`;
  });
  return [`${file} cannot be used: ${all}`, ...lines].join("\n");
}

/** Findings with their positions, in the order of the file; those without one come first. Of very many only the first. */
export function toFaults(
  findings: Iterable<Finding>,
  locate: (path: Path) => Position | null,
): readonly Fault[] {
  const some = Iterator.from(findings).take(mostFaults + 1);
  const located = Array.from(some, (finding) => ({
    ...finding,
    path: pathText(finding.path),
    position: finding.position ?? locate(finding.path),
  }));
  // An alias has the position of what it stands for, and with that each fault of it.
  const keyOf = ({ position, path, found, allowed }: Fault): string =>
    JSON.stringify([position ?? path, found, allowed]);
  const each = [...Map.groupBy(located, keyOf).values()].flatMap(([one]) => one ?? []);
  const rank = ({ position }: Fault): number =>
    (position?.line ?? 0) * 1e6 + (position?.column ?? 0);
  return each.toSorted((a, b) => rank(a) - rank(b));
}

/** Values of these settings are not shown. */
const secretSettings = new Set([...fromFile, "urls", "password_hash", "body"]);

const hidden = "a value that is not shown";

/** A number or duration in text. */
const quantity =
  /^(?=.{1,24}$)(?:-?\d+(?:\.\d+)? ?(?:[KMGT]?i?B|%)?|\d+ ?(?:s|sec|min)|(?:\d+(?:d|h|ms|m|s))+)$/;

/**
 * Describes a text, which may be a secret that was put in the wrong place: it is shown only if it is a quantity, consists
 * of words, or is a misspelt one of the known words.
 */
export function describeText(text: string, known: readonly string[], note = ""): string {
  if (text === "") return `empty text${note}`;
  const isShown = quantity.test(text) || isPlainText(text) || nearestName(text, known) !== null;
  if (isShown) return JSON.stringify(text) + note;
  return note === "" ? hidden : `a value${note}`;
}

/** Describes the value at the path. */
function describe(evidence: Evidence, path: Path, known: readonly string[], note = ""): string {
  const value = valueAt(evidence.value, path);
  const isText = typeof value === "string";
  if (!isText && typeof value !== "number" && typeof value !== "boolean") {
    return describeKind(value) + note;
  }
  const origin = evidence.origins.get(pathKey(path));
  if (origin) return origin.shown + note;
  const isSecret = path.some((part) => secretSettings.has(String(part).replace(/_file$/, "")));
  if (isSecret && value !== "") return note === "" ? hidden : `a value${note}`;
  return isText ? describeText(value, known, note) : value + note;
}

/** Only what kind of value it is. */
function describeKind(value: unknown): string {
  if (value === undefined || value === null) return "nothing";
  if (Array.isArray(value)) return value.length === 0 ? "an empty list" : "a list";
  if (typeof value === "object") {
    return Object.keys(value).length > 0 ? "a mapping" : "an empty mapping";
  }
  return typeof value === "string" ? "text" : `a ${typeof value}`;
}

/** Undefined where the path leads nowhere. */
export function valueAt(value: unknown, path: Path): unknown {
  let current = value;
  for (const part of path) {
    if (typeof current !== "object" || current === null || !Object.hasOwn(current, part)) return;
    current = Object.getOwnPropertyDescriptor(current, part)?.value;
  }
  return current;
}

/** Known names beyond these are not compared with a misspelt one. */
const mostCompared = 100;

/** Findings out of what zod complains of, one for each setting. */
export function* issueFindings(
  error: z.ZodError | undefined,
  evidence: Evidence,
): Generator<Finding, void> {
  // A name that came out of a variable is not suggested.
  const substituted = new Set(
    [...evidence.origins.keys()].map((key): unknown => valueAt(evidence.value, JSON.parse(key))),
  );
  for (const issue of error?.issues ?? []) {
    const path = issue.path.map((part) => (typeof part === "number" ? part : String(part)));
    if (issue.code === "unrecognized_keys") {
      const { known, ofOthers } = unknownSettings(issue.message);
      for (const key of issue.keys) {
        yield {
          path: [...path, key],
          found: "an unknown setting",
          allowed: ofOthers.get(key) ?? known.join(", "),
          suggestion: ofOthers.has(key) ? null : nearestName(key, known),
        };
      }
      continue;
    }
    // One text may stand for a list of it.
    const isInList = Array.isArray(valueAt(evidence.value, path.slice(0, -1)));
    if (typeof path.at(-1) === "number" && !isInList) path.pop();
    const value = valueAt(evidence.value, path);
    const params = paramsOf(issue);
    const { meant } = params;
    const names = (list: unknown): readonly string[] =>
      Array.isArray(list)
        ? list.filter((each) => typeof each === "string" && !substituted.has(each))
        : [];
    const listed = names(params["listed"]).slice(0, mostCompared).filter(isPlainName);
    const isUnderstood = typeof meant === "string" && typeof value === "string";
    const known = [...names(params["known"]), ...listed, ...(isUnderstood ? [value] : [])];
    const list = listed.length === 0 ? "" : `: ${listed.slice(0, 20).join(", ")}`;
    yield {
      path,
      found: foundBy(issue, evidence, path, { ...params, known }),
      allowed: issue.message + list,
      suggestion: isUnderstood ? meant : nearestOf(value, known),
    };
  }
}

function nearestOf(value: unknown, known: readonly string[]): string | null {
  return typeof value === "string" ? nearestName(value, known) : null;
}

function paramsOf(issue: z.core.$ZodIssue): Readonly<Record<string, unknown>> {
  if (issue.code === "custom") return issue.params ?? {};
  // Of a mapping that is read by the word in one of its settings.
  return issue.code === "invalid_union" && "options" in issue ? { known: issue.options } : {};
}

function foundBy(
  issue: z.core.$ZodIssue,
  evidence: Evidence,
  path: Path,
  params: { readonly found?: unknown; readonly note?: unknown; readonly known: readonly string[] },
): string {
  // The only format is that of a region's name, and the path ends in it.
  if (issue.code === "invalid_format") return "a name that is not allowed";
  if (issue.code === "invalid_type") return describeKind(valueAt(evidence.value, path));
  const { found, note, known } = params;
  if (typeof found === "string") return found;
  return describe(evidence, path, known, typeof note === "string" ? note : "");
}
