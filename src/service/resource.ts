import { z } from "zod";
import type { DeviationProblem, Deviations } from "./deviations.ts";
import type { JsonObject, JsonValue } from "./json.ts";

/** What the interface promises of one kind of object, made ready to be held against many. */
export interface Resource {
  /** Counts how the object differs from what is promised. */
  compare(value: JsonObject, deviations: Deviations): void;
}

interface Field {
  compare(value: JsonValue | undefined, deviations: Deviations): void;
}

/** @param prefix of its fields' names in deviations: ends in a dot or is empty */
export function resource(
  schema: z.ZodObject<Readonly<Record<string, z.ZodType>>>,
  prefix: string,
): Resource {
  const compiled = z.compile(schema);
  const fields = new Map(
    Object.entries(schema.shape).map(([name, each]) => [name, createField(prefix + name, each)]),
  );
  return {
    compare(value, deviations) {
      for (const name of Object.keys(value)) {
        if (!fields.has(name)) deviations.noteUnknown(prefix, name, value[name] ?? null);
      }
      if (compiled.validate(value)) return;
      for (const [name, field] of fields) field.compare(value[name], deviations);
    },
  };
}

/**
 * An answer can hold millions of objects that deviate, and zod takes microseconds to say in which
 * way: it is asked once for what is wrong with empty text here, and once for what is wrong with any
 * other text. Whatever else is refused is of a wrong type.
 */
function createField(path: string, schema: z.ZodType): Field {
  const compiled = z.compile(schema);
  const mayMiss = compiled.validate(undefined);
  const mayBeNull = compiled.validate(null);
  let ofEmptyText: DeviationProblem | undefined;
  let ofOtherText: DeviationProblem | undefined;
  const problemOf = (value: JsonValue | undefined): DeviationProblem | null => {
    if (value === undefined) return mayMiss ? null : "missing";
    if (value === null) return mayBeNull ? null : "null";
    if (compiled.validate(value)) return null;
    if (value === "") return (ofEmptyText ??= problemOfText(schema, value));
    if (typeof value === "string") return (ofOtherText ??= problemOfText(schema, value));
    return "wrong_type";
  };
  return {
    compare(value, deviations) {
      const problem = problemOf(value);
      if (problem) deviations.note(path, problem, value);
    },
  };
}

function problemOfText(schema: z.ZodType, text: string): DeviationProblem {
  switch (schema.safeParse(text).error?.issues[0]?.code) {
    case "too_big":
      return "too_long";
    case "too_small":
      return "empty";
    case "invalid_value":
      return "unknown_value";
    case "invalid_format":
      return "wrong_format";
    default:
      return "wrong_type";
  }
}
