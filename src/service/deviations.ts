import type { Deviation, DeviationProblem } from "../fleet/deviation.ts";
import { counted } from "../fleet/text.ts";
import { isArray, isObject, type JsonValue } from "./json-value.ts";

interface Noted {
  readonly problem: DeviationProblem;
  readonly example: string | null;
  count: number;
}

/** The unknown fields and words of a response beyond the limit. */
const otherField = "other";
const otherWord = "text";

/** Counts how a response deviates from the interface. */
export class Deviations {
  private readonly most: number;
  // Nested: a joined key would be made for each of what may be millions of deviations.
  private readonly fields = new Map<string, Map<string, Noted>>();
  private readonly unknownFields = new Set<string>();
  private readonly words = new Set<string>();

  /** @param most how many unknown fields, and how many new words, are counted apart */
  constructor(most = 20) {
    this.most = most;
  }

  get isEmpty(): boolean {
    return this.fields.size === 0;
  }

  /** @param value what deviates; only the shape of the first one is kept */
  note(field: string, problem: DeviationProblem, value?: JsonValue, times = 1): void {
    const known = this.fields.get(field)?.get(problem);
    if (known) known.count += times;
    else if (problem === "unknown_value") this.count(field, problem, wordOf(value), times);
    else this.count(field, problem, value === undefined ? null : shapeOf(value), times);
  }

  /** The name is as it came, from outside. The prefix ends in a dot or is empty. */
  noteUnknown(prefix: string, name: string, value: JsonValue): void {
    this.count(prefix + fieldName(name), "unknown_field", shapeOf(value), 1);
  }

  add(deviations: readonly Deviation[]): void {
    for (const { field, problem, example, count } of deviations) {
      this.count(field, problem, example, count);
    }
  }

  list(): readonly Deviation[] {
    return Array.from(this.fields, ([field, noted]) =>
      Array.from(noted.values(), (each) => ({ field, ...each })),
    ).flat();
  }

  private count(
    field: string,
    problem: DeviationProblem,
    example: string | null,
    times: number,
  ): void {
    const isField = problem === "unknown_field";
    const of = isField && !this.mayCount(this.unknownFields, field) ? otherField : field;
    const isWord = problem === "unknown_value" && this.mayCount(this.words, example ?? otherWord);
    const shown = problem === "unknown_value" && !isWord ? otherWord : example;
    const noted = this.fields.get(of) ?? new Map<string, Noted>();
    this.fields.set(of, noted);
    // Each new word is a kind of its own. The quotes keep it apart from the problems.
    const kind = problem === "unknown_value" ? (shown ?? otherWord) : problem;
    const known = noted.get(kind);
    if (known) known.count += times;
    else noted.set(kind, { problem, example: shown, count: times });
  }

  private mayCount(known: Set<string>, name: string): boolean {
    if (known.has(name)) return true;
    if (known.size >= this.most || name === otherField || name === otherWord) return false;
    known.add(name);
    return true;
  }
}

/** Describes the shape of a value without its content. */
export function shapeOf(value: JsonValue): string {
  if (value === null) return "null";
  if (isArray(value)) return `list of ${counted(value.length, "item")}`;
  if (isObject(value)) return `object of ${counted(Object.keys(value).length, "field")}`;
  switch (typeof value) {
    case "string":
      return `text of ${counted(value.length, "character")}`;
    case "number":
      return Number.isInteger(value) ? "whole number" : "number";
    default:
      return "true or false";
  }
}

/** A value where one of a few words is promised: a short word is shown, and nothing else. */
function wordOf(value: JsonValue | undefined): string {
  const isWord = typeof value === "string" && /^[a-z]+(?:[ _-][a-z]+){0,3}$/i.test(value);
  return isWord && value.length <= 24 ? `"${value}"` : otherWord;
}

/** Numbers, long runs of digits and letters, addresses: no service names its fields like that. */
const dataLike = /\d{5}|[0-9a-f]{16}|@|:\/\/|^(?=.*\d)(?=.*[a-z]).{24}/i;

/** A field's name as it can be in a log and in a label. One that may itself be data becomes `*`. */
export function fieldName(name: string): string {
  if (/^[a-z_]{1,24}$/i.test(name)) return name;
  const short = name.slice(0, 64);
  return dataLike.test(short) ? "*" : short.replaceAll(/[^\x21-\x7e]/g, "?");
}
