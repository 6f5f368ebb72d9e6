import { fieldAt, fieldPathText } from "./probe-field.ts";
import type { FieldPath } from "./probe-field.ts";
import { longestName, readable } from "../fleet/readable.ts";

/** What must hold of an answer. Without anything else, that it has the status. */
export interface Expectation {
  /** Of HTTP. Another than 200 means that a refusal is expected; then nothing else is. */
  readonly status: number;
  /** What the answer itself must say of its success; null: it need not say anything. */
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
  if (status !== 200) return `HTTP 200, not ${status}`;
  if (success !== null && fieldAt(answer.content, ["success"]) !== success) {
    return success ? "the answer says no success" : "the answer says success";
  }
  if (atLeast !== null && (answer.listed ?? 0) < atLeast) {
    return `${answer.listed ?? 0} listed, not at least ${atLeast}`;
  }
  for (const { path, must } of fields) {
    const found = fieldAt(answer.content, path);
    if (!holds(must, found)) return `field ${nameOf(path)} ${shortcoming(must, found)}`;
  }
  return null;
}

function holds(must: FieldMust, found: unknown): boolean {
  switch (must.be) {
    case "equal":
      return found === must.to;
    case "present":
      return found !== undefined && found !== null;
    case "absent":
      return found === undefined || found === null;
  }
}

function nameOf(path: FieldPath): string {
  return readable(fieldPathText(path), longestName);
}

function shortcoming(must: FieldMust, found: unknown): string {
  if (must.be === "absent") return "is there";
  if (found === undefined) return "is not there";
  return found === null ? "is null" : "has another value";
}
