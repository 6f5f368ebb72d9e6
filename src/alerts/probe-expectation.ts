import { longestName, readable } from "../fleet/text.ts";

/** Where in an answer a field is: names of objects' fields, and positions in lists. */
export type FieldPath = readonly string[];

/** What `parseFieldPath` reads. */
export const fieldPathPattern = /^(?:[^.\\]|\\[.\\])+(?:\.(?:[^.\\]|\\[.\\])+)*$/u;

/** Reads `data.plans.0.name`, where a dot in a name is written `\.`, and a backslash `\\`. Undefined: it is no path. */
export function parseFieldPath(text: string): FieldPath | undefined {
  if (!fieldPathPattern.test(text)) return undefined;
  const names = text.matchAll(/(?:[^.\\]|\\[.\\])+/gsu);
  return Array.from(names, ([name]) => name.replaceAll(/\\(.)/gsu, "$1"));
}

export function fieldPathText(path: FieldPath): string {
  return path.map((part) => part.replaceAll(/[\\.]/g, "\\$&")).join(".");
}

/** Undefined: nothing is there. */
export function fieldAt(answer: unknown, path: FieldPath): unknown {
  return path.reduce(fieldOf, answer);
}

function fieldOf(value: unknown, name: string): unknown {
  if (typeof value !== "object" || value === null) return undefined;
  if (Array.isArray(value) && !/^\d+$/.test(name)) return undefined;
  return Object.getOwnPropertyDescriptor(value, name)?.value;
}

export interface Expectation {
  /** Of HTTP. If it is not 200, a refusal is expected, and nothing else is. */
  readonly status: number;
  /** What the answer must say of its success; null: it need not say anything. */
  readonly success: boolean | null;
  /** How many universes or sandboxes there must be; null: any number. */
  readonly atLeast: number | null;
  readonly fields: readonly FieldExpectation[];
}

export interface FieldExpectation {
  readonly path: FieldPath;
  readonly must: FieldMust;
}

export type FieldMust =
  | { readonly be: "equal"; readonly to: string | number | boolean | null }
  /** There, and not null. */
  | { readonly be: "present" }
  /** Not there, or null. */
  | { readonly be: "absent" };

/** An answer of status 200 that could be read. */
export interface ReadAnswer {
  /** Its JSON; null for a listing of sandboxes of which no fields are expected: it is not held. */
  readonly content: unknown;
  /** How many universes or sandboxes it lists; null: it lists none. */
  readonly listed: number | null;
}

/**
 * What of an answer is not as expected, in words without any value of it: anything in it may be secret.
 *
 * @returns null when all is as expected
 */
export function unmetBy(expectation: Expectation, answer: ReadAnswer): string | null {
  const { status, success, atLeast, fields } = expectation;
  const listed = answer.listed ?? 0;
  if (status !== 200) return `HTTP 200, not ${status}`;
  if (success !== null && fieldAt(answer.content, ["success"]) !== success) {
    return success ? "success is not true" : "success is not false";
  }
  if (atLeast !== null && listed < atLeast) return `${listed} listed, not at least ${atLeast}`;
  for (const { path, must } of fields) {
    const shortcoming = shortcomingOf(must, fieldAt(answer.content, path));
    if (shortcoming) return `field ${readable(fieldPathText(path), longestName)} ${shortcoming}`;
  }
  return null;
}

function shortcomingOf(must: FieldMust, found: unknown): string | null {
  if (must.be === "absent") return (found ?? null) === null ? null : "is there";
  if (must.be === "equal" && found === must.to) return null;
  if (found === undefined) return "is not there";
  if (found === null) return "is null";
  return must.be === "equal" ? "has another value" : null;
}
