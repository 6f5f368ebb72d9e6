import type { z } from "zod";
import { parseBaseUrl } from "./address.ts";
import { knownSettings, namePattern } from "./fields.ts";
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

/** A setting's name is shown only when it looks like one: it could be a value that is misplaced. */
const showableName = /^[\w.-]{1,64}$/;

function pathText(path: Path): string {
  return path
    .map((part, index) => {
      if (typeof part === "number") return `[${part}]`;
      if (!showableName.test(part)) return "[a name that is not shown]";
      if (part.includes(".")) return `["${part}"]`;
      return index === 0 ? part : `.${part}`;
    })
    .join("");
}

/** All faults of a configuration as lines for a person. */
export function formatFaults(file: string, faults: readonly Fault[]): string {
  const count = faults.length === 1 ? "1 error" : `${faults.length} errors`;
  const lines = faults.map(({ position, path, found, allowed, suggestion }) => {
    const at = [position && `${position.line}:${position.column}`, path].filter(Boolean);
    const where = at.length === 0 ? "" : `${at.join(" ")}: `;
    const hint = suggestion ? `; did you mean "${suggestion}"?` : "";
    return `  ${where}found ${found}; allowed: ${allowed}${hint}`;
  });
  return [`${file} cannot be used: ${count}`, ...lines].join("\n");
}

/** Findings with their positions, in the order of the file; those without one come first. */
export function toFaults(
  findings: readonly Finding[],
  locate: (path: Path) => Position | null,
): readonly Fault[] {
  const located = findings.map((finding) => ({
    ...finding,
    path: pathText(finding.path),
    position: finding.position ?? locate(finding.path),
  }));
  // An alias has the position of what it stands for, and with that each fault of it.
  const keyOf = ({ position, path, found, allowed }: Fault): string =>
    JSON.stringify([position ?? path, found, allowed]);
  const each = [...Map.groupBy(located, keyOf).values()].flatMap(([first]) => first ?? []);
  const rank = ({ position }: Fault): number =>
    (position?.line ?? 0) * 1e6 + (position?.column ?? 0);
  return each.toSorted((a, b) => rank(a) - rank(b));
}

const secretSettings = new Set([
  "api_key",
  "url",
  "urls",
  "secret",
  "routing_key",
  "bearer_token",
  "token",
  "password_hash",
  "body",
]);
const longestShown = 60;

/** Describes the value at the path. Secrets, and values of `${...}`, are not shown. */
function describe(evidence: Evidence, path: Path): string {
  const value = valueAt(evidence.value, path);
  const isText = typeof value === "string";
  if (!isText && typeof value !== "number" && typeof value !== "boolean") {
    return describeKind(value);
  }
  const origin = evidence.origins.get(pathKey(path));
  if (origin) return origin.shown;
  const shown = String(value);
  if (!mayBeShown(shown, path)) return "a value that is not shown";
  if (!isText) return shown;
  const clipped = shown.length > longestShown ? `${shown.slice(0, longestShown)}...` : shown;
  return shown === "" ? "empty text" : JSON.stringify(clipped);
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

function mayBeShown(text: string, path: Path): boolean {
  if (path.some((part) => secretSettings.has(String(part).replace(/_file$/, "")))) return false;
  if (path.at(-1) === "base_url") return parseBaseUrl(text) !== undefined;
  return !text.includes("://");
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

/** Findings out of what zod complains of, one for each setting. */
export function issueFindings(error: z.ZodError | undefined, evidence: Evidence): Finding[] {
  // A name that came out of a variable is not suggested.
  const hidden = new Set(
    [...evidence.origins.keys()].map((key): unknown => valueAt(evidence.value, JSON.parse(key))),
  );
  return (error?.issues ?? []).flatMap((issue): Finding[] => {
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
    // One text may stand for a list of it.
    const isInList = Array.isArray(valueAt(evidence.value, path.slice(0, -1)));
    if (typeof path.at(-1) === "number" && !isInList) path.pop();
    const value = valueAt(evidence.value, path);
    const params = issue.code === "custom" ? (issue.params ?? {}) : {};
    const names = (list: unknown): readonly string[] =>
      Array.isArray(list)
        ? list.filter((each) => typeof each === "string" && !hidden.has(each))
        : [];
    const listed = names(params["listed"]).filter((each) => namePattern.test(each));
    const known = [...names(params["known"]), ...listed];
    const list = listed.length === 0 ? "" : `: ${listed.slice(0, 20).join(", ")}`;
    return [
      {
        path,
        found: foundBy(issue, evidence, path, params),
        allowed: issue.message + list,
        suggestion: typeof value === "string" ? nearestName(value, known) : null,
      },
    ];
  });
}

function foundBy(
  issue: z.core.$ZodIssue,
  evidence: Evidence,
  path: Path,
  params: { readonly found?: unknown; readonly note?: unknown },
): string {
  // The only format is that of a region's name, and the path ends in it.
  if (issue.code === "invalid_format") return "a name that is not allowed";
  if (issue.code === "invalid_type") return describeKind(valueAt(evidence.value, path));
  const { found, note } = params;
  if (typeof found === "string") return found;
  return describe(evidence, path) + (typeof note === "string" ? note : "");
}
