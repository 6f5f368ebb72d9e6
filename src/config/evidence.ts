import { parseBaseUrl } from "./address.ts";
import { pathKey, type Path } from "./faults.ts";

/** Where a value came from, when the file holds only a reference to it. */
export type Origin =
  | { readonly kind: "variables"; readonly names: readonly string[] }
  /** The setting written was this one with `_file` after its name. */
  | { readonly kind: "file" };

/** A configuration as it was found, and what is known of it: what faults are told from. */
export interface Evidence {
  readonly value: unknown;
  /** By `pathKey`. */
  readonly origins: ReadonlyMap<string, Origin>;
}

const secretSettings = new Set([
  "api_key",
  "url",
  "urls",
  "secret",
  "routing_key",
  "bearer_token",
  "body",
]);
const longestShown = 60;

/** What stands at the path, in words. Secrets, and values out of `${...}`, are not shown. */
export function describe(evidence: Evidence, path: Path): string {
  const value = valueAt(evidence.value, path);
  if (!isScalar(value)) return describeKind(value);
  const origin = evidence.origins.get(pathKey(path));
  if (origin) return describeOrigin(origin);
  if (!mayBeShown(value, path)) return "a value that is not shown";
  if (typeof value !== "string") return String(value);
  const clipped = value.length > longestShown ? `${value.slice(0, longestShown)}...` : value;
  return value === "" ? "empty text" : JSON.stringify(clipped);
}

/** Says of a value that ought to be a mapping or a list only what kind it is. */
export function describeKind(value: unknown): string {
  if (value === undefined || value === null) return "nothing";
  if (Array.isArray(value)) return value.length === 0 ? "an empty list" : "a list";
  if (typeof value === "object")
    return Object.keys(value).length > 0 ? "a mapping" : "an empty mapping";
  return typeof value === "string" ? "text" : `a ${typeof value}`;
}

function describeOrigin(origin: Origin): string {
  if (origin.kind === "file") return "the content of the file";
  return `the value of ${origin.names.map((name) => `\${${name}}`).join(" and ")}`;
}

function isScalar(value: unknown): value is string | number | boolean {
  return typeof value === "string" || typeof value === "number" || typeof value === "boolean";
}

function mayBeShown(value: string | number | boolean, path: Path): boolean {
  const names = path.map((part) => String(part).replace(/_file$/, ""));
  if (names.some((part) => secretSettings.has(part))) return false;
  if (path.at(-1) === "base_url") return parseBaseUrl(String(value)) !== undefined;
  return !/:\/\//.test(String(value));
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

/** Whether the value may stand in a message as it is. */
export function isPublic(evidence: Evidence, path: Path): boolean {
  return !evidence.origins.has(pathKey(path));
}
