import { counted } from "../fleet/counted.ts";
import type { DeviationProblem } from "../fleet/deviation.ts";
import type { JsonValue } from "./json.ts";
import { maxIdLength, maxNameLength } from "./schemas.ts";
import { shapeOf } from "./value-shape.ts";

/** Something that a listing shows and that cannot be kept: an item of it, or a text of an item. */
export interface Unkept {
  /** Such as `local_sandboxes[3].servers[0].id`; the numbers count from 0, in the order of the listing. */
  readonly place: string;
  readonly problem: DeviationProblem;
  /** The shape of what was found, such as `text of 2000 characters`; null: nothing was there. */
  readonly found: string | null;
  /** What is not watched because of it; null: only the text is missing from what is kept. */
  readonly lost: "sandbox" | "server" | null;
  readonly sandboxId: string | null;
  readonly serverId: string | null;
}

/** All that one listing shows and cannot be kept: the first of them, and how many there are. */
export interface UnkeptItems {
  readonly count: number;
  readonly first: readonly Unkept[];
}

/** Why a text cannot be kept; null: it can be. */
export type TextProblem = Extract<DeviationProblem, "empty" | "too_long" | "invalid_character">;

/** An id is kept exactly as it is, or not at all: another one could be made of two different ones. */
function problemOfId(id: string): TextProblem | null {
  if (id === "") return "empty";
  if (id.length > maxIdLength) return "too_long";
  return id.includes("\0") || !id.isWellFormed() ? "invalid_character" : null;
}

/** No database keeps a NUL character in a text. */
export function problemOfText(text: string): TextProblem | null {
  if (text.length > maxNameLength) return "too_long";
  return text.includes("\0") ? "invalid_character" : null;
}

/** Of a value where an id must be: why it is none, or cannot be kept. */
export function problemOfIdValue(value: JsonValue | undefined): DeviationProblem | null {
  if (value === undefined) return "missing";
  if (value === null) return "null";
  return typeof value === "string" ? problemOfId(value) : "wrong_type";
}

export function foundShape(value: JsonValue | undefined): string | null {
  return value === undefined || value === null ? null : shapeOf(value);
}

/** Such as "local_sandboxes[3].local_sandbox_id is too long (text of 2000 characters)". */
export function describeUnkept({ place, problem, found }: Unkept): string {
  const shape = found === null || problem === "empty" ? "" : ` (${found})`;
  return `${place} ${inWords(problem)}${shape}`;
}

/** For a person, why a listing with such items is partial. */
export function summarizeUnkept({ count, first }: UnkeptItems): string | null {
  const [example] = first;
  if (!example) return null;
  const ordinal = count === 1 ? "" : ", the first one";
  return `${counted(count, "item or text", "items or texts")} cannot be kept${ordinal}: ${describeUnkept(example)}`;
}

function inWords(problem: DeviationProblem): string {
  switch (problem) {
    case "missing":
      return "is missing";
    case "null":
      return "is null";
    case "empty":
      return "is empty";
    case "too_long":
      return "is too long";
    case "too_many":
      return "has too many items";
    case "invalid_character":
      return "holds a NUL character or half a surrogate pair";
    default:
      return "is of another type than promised";
  }
}
