import { isArray, isObject, type JsonObject, type JsonValue } from "../service/json.ts";
import { printable } from "./table.ts";
import { cutToWidth } from "./text-width.ts";

export interface TreeOptions {
  /** The width of a line. Default: as much as is shown of any text. */
  readonly columns?: number | undefined;
  /** Spaces before each line. */
  readonly indent?: number;
}

/** What is shown at most. The rest is counted. */
const deepest = 8;
const mostItems = 20;
const mostLines = 400;
const mostCharacters = 500;

/** Any JSON as lines for a person. Omitted parts are counted. */
export function renderTree(value: JsonValue, { columns, indent = 0 }: TreeOptions = {}): string {
  const margin = " ".repeat(indent);
  let text = "";
  let lines = 0;
  for (const line of linesOf(value, 0)) {
    if (lines === mostLines) return `${text}${margin}… and more; --json has all of it\n`;
    lines += 1;
    text += `${cutToWidth(margin + line, columns)}\n`;
  }
  return text;
}

function* linesOf(value: JsonValue, depth: number): Generator<string> {
  if (isObject(value) && hasParts(value)) yield* fieldsOf(value, depth);
  else if (isArray(value) && hasParts(value)) yield* itemsOf(value, depth);
  else yield leafText(value);
}

function* fieldsOf(object: JsonObject, depth: number): Generator<string> {
  const fields = Object.entries(object);
  for (const [name, value] of fields.slice(0, mostItems)) {
    const label = name === "" ? '""' : shortened(name);
    if (!hasParts(value) || depth >= deepest) {
      yield `${label}: ${leafText(value)}`;
      continue;
    }
    yield `${label}:`;
    for (const line of linesOf(value, depth + 1)) yield `  ${line}`;
  }
  yield* moreThan(fields.length, "fields");
}

function* itemsOf(items: readonly JsonValue[], depth: number): Generator<string> {
  for (const item of items.slice(0, mostItems)) {
    if (!hasParts(item) || depth >= deepest) {
      yield `- ${leafText(item)}`;
      continue;
    }
    let lead = "- ";
    for (const line of linesOf(item, depth + 1)) {
      yield lead + line;
      lead = "  ";
    }
  }
  yield* moreThan(items.length, "items");
}

function* moreThan(count: number, what: string): Generator<string> {
  if (count > mostItems) yield `… ${count - mostItems} more ${what}`;
}

function hasParts(value: JsonValue): boolean {
  return typeof value === "object" && value !== null && Object.keys(value).length > 0;
}

/** A value in one line. Lists and objects are shown by their size. */
export function leafText(value: JsonValue): string {
  if (typeof value === "string") return value === "" ? '""' : shortened(value);
  if (isArray(value)) return value.length === 0 ? "[]" : `[${value.length} items]`;
  if (!isObject(value)) return String(value);
  const count = Object.keys(value).length;
  return count === 0 ? "{}" : `{${count} fields}`;
}

function shortened(text: string): string {
  return cutToWidth(printable(text.slice(0, 2 * mostCharacters)), mostCharacters);
}
