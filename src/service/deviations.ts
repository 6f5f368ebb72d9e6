import { z } from "zod";
import { wholeAnswer, type Deviation, type DeviationProblem } from "../fleet/deviation.ts";
import { counted } from "../fleet/text.ts";
import { isArray, isObject } from "./json.ts";
import type { JsonValue } from "./json-value.ts";

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
    const all: Deviation[] = [];
    for (const [field, noted] of this.fields) {
      for (const { problem, example, count } of noted.values()) {
        all.push({ field, problem, example, count });
      }
    }
    return all;
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

/**
 * Compares responses with a schema of the interface: the only place that decides what a deviation is. Drift
 * reports what it finds in every response; a conformance check also counts the fields that conform.
 */
export type Walker = ReturnType<typeof createWalker>;

export interface FieldCount {
  /** How often it was there, and as the interface has it. */
  seen: number;
  /** How often it was null, or not there, where it may be. */
  nulls: number;
  absent: number;
  /** For an enumeration: whether each value was observed. Null: the field is not an enumeration. */
  readonly words: Map<string, boolean> | null;
}

/** By field, such as `universes[].name`; `[]` at the end: the items of a list. */
type FieldCounts = ReadonlyMap<string, FieldCount>;

/** A part of a schema. */
export interface SchemaNode {
  /** Empty: the response as a whole. */
  readonly path: string;
  problemOf(value: JsonValue | undefined): DeviationProblem | null;
  readonly fields: ReadonlyMap<string, SchemaNode> | null;
  readonly items: SchemaNode | null;
  readonly words: readonly string[] | null;
  /** What a look-up may show of it. */
  readonly shown: true | "address" | undefined;
}

/** @param path of the value in a response: its name in deviations */
export function createWalker(schema: z.ZodType, path = "") {
  const root = schemaNode(schema, path);
  return {
    /** Notes each deviation of a value, and counts the fields that conform. */
    compare: (value: JsonValue | undefined, deviations: Deviations, counts?: FieldCounts): void =>
      walk(root, value, deviations, counts),
    /** A zero for each field of the interface, in its order. */
    startCounts: (): FieldCounts => new Map(countsOf(root)),
  };
}

function walk(
  node: SchemaNode,
  value: JsonValue | undefined,
  deviations: Deviations,
  counts: FieldCounts | undefined,
): void {
  const { path, fields, items } = node;
  const problem = node.problemOf(value);
  if (problem !== null) return deviations.note(path || wholeAnswer, problem, value);
  if (counts) countValue(value, counts.get(path));
  if (items && isArray(value)) {
    for (const item of value) walk(items, item, deviations, counts);
  }
  if (!fields || !isObject(value)) return;
  for (const name of Object.keys(value)) {
    if (!fields.has(name)) deviations.noteUnknown(join(path, ""), name, value[name] ?? null);
  }
  for (const [name, field] of fields) walk(field, value[name], deviations, counts);
}

function countValue(value: JsonValue | undefined, field: FieldCount | undefined): void {
  if (!field) return;
  if (value === undefined) field.absent += 1;
  else if (value === null) field.nulls += 1;
  else field.seen += 1;
  if (typeof value === "string") field.words?.set(value, true);
}

function* countsOf({ path, fields, items, words }: SchemaNode): Iterable<[string, FieldCount]> {
  const unused = words && new Map(words.map((word) => [word, false] as const));
  if (path !== "") yield [path, { seen: 0, nulls: 0, absent: 0, words: unused }];
  if (items) yield* countsOf(items);
  for (const field of fields?.values() ?? []) yield* countsOf(field);
}

/** @param listShown what may be shown of the items of a list */
export function schemaNode(
  schema: z.ZodType,
  path = "",
  listShown?: SchemaNode["shown"],
): SchemaNode {
  const bare = unwrap(schema);
  const shown = schema.meta()?.shown ?? listShown;
  const node = { path, fields: null, items: null, words: null, shown };
  if (bare instanceof z.ZodObject) {
    const fields = Object.entries(bare.shape).map(
      ([name, field]) => [name, schemaNode(asType(field), join(path, name))] as const,
    );
    return { ...node, problemOf: createCheck(schema, isObject), fields: new Map(fields) };
  }
  if (bare instanceof z.ZodArray) {
    const items = schemaNode(asType(bare.element), `${path}[]`, shown);
    // Its items are shown: what stands in place of a list may be anything.
    return { ...node, shown: undefined, problemOf: createCheck(schema, isArray), items };
  }
  const words = bare instanceof z.ZodEnum ? bare.options.map(String) : null;
  const compiled = z.compile(schema);
  return { ...node, problemOf: createCheck(schema, (value) => compiled.validate(value)), words };
}

/**
 * A response can hold millions of values that deviate, and zod takes microseconds to find out how: it is asked once
 * about empty text, and once about any other text. Everything else that is refused is of a wrong type.
 */
function createCheck(
  schema: z.ZodType,
  isOfType: (value: JsonValue | undefined) => boolean,
): SchemaNode["problemOf"] {
  const mayMiss = schema.safeParse(undefined).success;
  const mayBeNull = schema.safeParse(null).success;
  const ofTexts = new Map<boolean, DeviationProblem>();
  return (value) => {
    if (value === undefined) return mayMiss ? null : "missing";
    if (value === null) return mayBeNull ? null : "null";
    if (isOfType(value)) return null;
    if (typeof value !== "string") return "wrong_type";
    const problem = ofTexts.get(value === "") ?? problemOfText(schema, value);
    ofTexts.set(value === "", problem);
    return problem;
  };
}

const problems: Readonly<Record<string, DeviationProblem>> = {
  too_big: "too_long",
  too_small: "empty",
  invalid_value: "unknown_value",
  invalid_format: "wrong_format",
};

function problemOfText(schema: z.ZodType, text: string): DeviationProblem {
  const code = schema.safeParse(text).error?.issues[0]?.code;
  return problems[code ?? ""] ?? "wrong_type";
}

function unwrap(schema: z.ZodType): z.ZodType {
  return schema instanceof z.ZodOptional || schema instanceof z.ZodNullable
    ? unwrap(asType(schema.unwrap()))
    : schema;
}

function asType(schema: unknown): z.ZodType {
  if (schema instanceof z.ZodType) return schema;
  throw new TypeError("the interface must be written in zod's own schemas");
}

function join(path: string, name: string): string {
  return path === "" ? name : `${path}.${name}`;
}
