import { z } from "zod";
import { wholeAnswer } from "../fleet/deviation.ts";
import type { DeviationProblem } from "../fleet/deviation.ts";
import type { Deviations } from "./deviations.ts";
import { isArray, isObject, type JsonValue } from "./json-value.ts";

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
interface Node {
  /** Empty: the response as a whole. */
  readonly path: string;
  problemOf(value: JsonValue | undefined): DeviationProblem | null;
  readonly fields: ReadonlyMap<string, Node> | null;
  readonly items: Node | null;
  readonly words: readonly string[] | null;
}

/** @param path of the value in a response: its name in deviations */
export function createWalker(schema: z.ZodType, path = "") {
  const root = createNode(schema, path);
  return {
    /** Notes each deviation of a value, and counts the fields that conform. */
    compare: (value: JsonValue | undefined, deviations: Deviations, counts?: FieldCounts): void =>
      walk(root, value, deviations, counts),
    /** A zero for each field of the interface, in its order. */
    startCounts: (): FieldCounts => new Map(countsOf(root)),
  };
}

function walk(
  node: Node,
  value: JsonValue | undefined,
  deviations: Deviations,
  counts: FieldCounts | undefined,
): void {
  const { path, fields, items } = node;
  const problem = node.problemOf(value);
  if (problem !== null) return deviations.note(path || wholeAnswer, problem, value);
  if (counts) count(value, counts.get(path));
  if (items && isArray(value)) {
    for (const item of value) walk(items, item, deviations, counts);
  }
  if (!fields || !isObject(value)) return;
  for (const name of Object.keys(value)) {
    if (!fields.has(name)) deviations.noteUnknown(join(path, ""), name, value[name] ?? null);
  }
  for (const [name, field] of fields) walk(field, value[name], deviations, counts);
}

function count(value: JsonValue | undefined, counted: FieldCount | undefined): void {
  if (!counted) return;
  if (value === undefined) counted.absent += 1;
  else if (value === null) counted.nulls += 1;
  else counted.seen += 1;
  if (typeof value === "string") counted.words?.set(value, true);
}

function* countsOf({ path, fields, items, words }: Node): Iterable<[string, FieldCount]> {
  const unused = words && new Map(words.map((word) => [word, false] as const));
  if (path !== "") yield [path, { seen: 0, nulls: 0, absent: 0, words: unused }];
  if (items) yield* countsOf(items);
  for (const field of fields?.values() ?? []) yield* countsOf(field);
}

function createNode(schema: z.ZodType, path: string): Node {
  const bare = unwrap(schema);
  const node = { path, fields: null, items: null, words: null };
  if (bare instanceof z.ZodObject) {
    const fields = Object.entries(bare.shape).map(
      ([name, field]) => [name, createNode(asType(field), join(path, name))] as const,
    );
    return { ...node, problemOf: createCheck(schema, isObject), fields: new Map(fields) };
  }
  if (bare instanceof z.ZodArray) {
    const items = createNode(asType(bare.element), `${path}[]`);
    return { ...node, problemOf: createCheck(schema, isArray), items };
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
): Node["problemOf"] {
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

export function unwrap(schema: z.ZodType): z.ZodType {
  return schema instanceof z.ZodOptional || schema instanceof z.ZodNullable
    ? unwrap(asType(schema.unwrap()))
    : schema;
}

export function asType(schema: unknown): z.ZodType {
  if (schema instanceof z.ZodType) return schema;
  throw new TypeError("the interface must be written in zod's own schemas");
}

function join(path: string, name: string): string {
  return path === "" ? name : `${path}.${name}`;
}
