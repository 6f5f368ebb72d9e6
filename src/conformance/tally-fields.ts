import { z } from "zod";
import { wholeAnswer } from "../core/deviation.ts";
import type { DeviationProblem } from "../core/deviation.ts";
import { createDeviations } from "../service/deviations.ts";
import type { Deviation, Deviations } from "../service/deviations.ts";
import { isArray, isObject, type JsonValue } from "../service/json.ts";

/** What was seen of a field that the interface has. */
export interface FieldTally {
  /** Such as `universes[].name`; of a list with `[]` at the end, its items. */
  readonly field: string;
  readonly seen: number;
  /** How often it was null, or not there, where it may be. */
  readonly nulls: number;
  readonly absent: number;
  /** Of an enumeration, the words that were seen and those that were not; else null. */
  readonly words: { readonly seen: readonly string[]; readonly unseen: readonly string[] } | null;
}

export interface Tally {
  /** Of every field that the interface has, seen or not, in its order. */
  readonly fields: readonly FieldTally[];
  readonly deviations: readonly Deviation[];
}

interface Count {
  seen: number;
  nulls: number;
  absent: number;
  readonly words: Map<string, boolean> | null;
}

interface Walk {
  readonly counts: Map<string, Count>;
  readonly deviations: Deviations;
}

/** Holds an answer against its schema, field by field. No value is in what it gives. */
export function tallyFields(schema: z.ZodType, answer: JsonValue): Tally {
  const walk: Walk = { counts: new Map(), deviations: createDeviations() };
  enter(schema, "", walk);
  compare(schema, answer, "", walk);
  const fields = Array.from(walk.counts, ([field, { words, ...count }]) => {
    const inWords = words && {
      seen: [...words.keys()].filter((word) => words.get(word)),
      unseen: [...words.keys()].filter((word) => !words.get(word)),
    };
    return { field, ...count, words: inWords };
  });
  return { fields, deviations: walk.deviations.list() };
}

/** Starts the count of each field that there is, so that those too are told that nothing shows. */
function enter(schema: z.ZodType, path: string, walk: Walk): void {
  const { bare } = unwrap(schema);
  if (path !== "") {
    const words =
      bare instanceof z.ZodEnum ? new Map(bare.options.map((word) => [String(word), false])) : null;
    walk.counts.set(path, { seen: 0, nulls: 0, absent: 0, words });
  }
  for (const [inner, innerPath] of partsOf(bare, path)) enter(inner, innerPath, walk);
}

function partsOf(bare: z.ZodType, path: string): readonly (readonly [z.ZodType, string])[] {
  if (bare instanceof z.ZodArray) return [[asType(bare.element), `${path}[]`]];
  if (!(bare instanceof z.ZodObject)) return [];
  return Object.entries(bare.shape).map(([name, inner]) => [asType(inner), join(path, name)]);
}

function compare(schema: z.ZodType, value: JsonValue | undefined, path: string, walk: Walk): void {
  const { bare, mayMiss, mayBeNull } = unwrap(schema);
  const count = walk.counts.get(path);
  const note = (problem: DeviationProblem): void =>
    walk.deviations.note(path === "" ? wholeAnswer : path, problem, value);
  if (value === undefined) {
    if (!mayMiss) note("missing");
    else if (count) count.absent += 1;
    return;
  }
  if (value === null && !(bare instanceof z.ZodUnknown)) {
    if (!mayBeNull) note("null");
    else if (count) count.nulls += 1;
    return;
  }
  const problem = problemOf(bare, value);
  if (problem) return note(problem);
  if (count) {
    count.seen += 1;
    if (typeof value === "string") count.words?.set(value, true);
  }
  compareParts(bare, value, path, walk);
}

function compareParts(bare: z.ZodType, value: JsonValue, path: string, walk: Walk): void {
  if (bare instanceof z.ZodArray && isArray(value)) {
    const element = asType(bare.element);
    for (const item of value) compare(element, item, `${path}[]`, walk);
  }
  if (!(bare instanceof z.ZodObject) || !isObject(value)) return;
  for (const name of Object.keys(value)) {
    if (Object.hasOwn(bare.shape, name)) continue;
    walk.deviations.noteUnknown(join(path, ""), name, value[name] ?? null);
  }
  for (const [inner, innerPath] of partsOf(bare, path)) {
    const name = innerPath.slice(join(path, "").length);
    compare(inner, Object.hasOwn(value, name) ? value[name] : undefined, innerPath, walk);
  }
}

/** Of the value itself: what is within it is compared on its own. */
function problemOf(bare: z.ZodType, value: JsonValue): DeviationProblem | null {
  if (bare instanceof z.ZodObject || bare instanceof z.ZodRecord) {
    return isObject(value) ? null : "wrong_type";
  }
  if (bare instanceof z.ZodArray) return isArray(value) ? null : "wrong_type";
  const fault = bare.safeParse(value).error?.issues[0];
  if (!fault) return null;
  if (typeof value !== "string") return "wrong_type";
  if (fault.code === "invalid_value") return "unknown_value";
  return fault.code === "invalid_format" ? "wrong_format" : "wrong_type";
}

function unwrap(schema: z.ZodType) {
  let bare = schema;
  let mayMiss = false;
  let mayBeNull = false;
  while (bare instanceof z.ZodOptional || bare instanceof z.ZodNullable) {
    if (bare instanceof z.ZodOptional) mayMiss = true;
    else mayBeNull = true;
    bare = asType(bare.unwrap());
  }
  return { bare, mayMiss, mayBeNull };
}

function asType(schema: unknown): z.ZodType {
  if (schema instanceof z.ZodType) return schema;
  throw new TypeError("The interface must be written in schemas of zod's own");
}

function join(path: string, name: string): string {
  return path === "" ? name : `${path}.${name}`;
}
