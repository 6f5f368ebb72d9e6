import { z } from "zod";
import { nearestName } from "../config/nearest-name.ts";
import { RefusedError } from "../lib/refusal.ts";

/**
 * Checks a request.
 *
 * @throws {RefusedError} with everything that is wrong with it
 */
export function readRequest<Schema extends z.ZodType>(
  schema: Schema,
  request: unknown,
): z.output<Schema> {
  const read = schema.safeParse(request, { error: allowedValues });
  if (read.success) return read.data;
  const faults = read.error.issues.flatMap((issue) => {
    // The index in a list is omitted: in a query and on a command line there is none.
    const path = issue.path
      .filter((part) => typeof part !== "number")
      .map(String)
      .join(".");
    if (issue.code !== "unrecognized_keys") return [{ path, allowed: issue.message }];
    return issue.keys.map((key) => ({
      path: path === "" ? key : `${path}.${key}`,
      allowed: `nothing: there is no such field${suggestion(key, fieldsAt(schema, issue.path))}`,
    }));
  });
  const list = new Set(
    faults.map(({ path, allowed }) => (path === "" ? allowed : `${path}: ${allowed}`)),
  );
  throw new RefusedError(
    "invalid",
    `The request cannot be used. Allowed: ${[...list].join("; ")}`,
    faults,
  );
}

/** What is allowed where a schema has no message of its own. */
function allowedValues(issue: z.core.$ZodRawIssue): string | undefined {
  switch (issue.code) {
    case "invalid_type":
      if (issue.expected !== "string") return typeWords[issue.expected];
      return Array.isArray(issue.input) ? "one text, given once" : "a text";
    case "too_small":
      if (issue.origin === "string") return "a text that is not empty";
      return issue.origin === "array"
        ? `at least ${issue.minimum} of them`
        : `a number of at least ${issue.minimum}`;
    case "too_big":
      if (issue.origin === "string") return `a text of at most ${issue.maximum} characters`;
      return issue.origin === "array" ? `at most ${issue.maximum} of them` : undefined;
    default:
      return undefined;
  }
}

const typeWords: Readonly<Record<string, string>> = {
  object: "an object with fields",
  array: "a list",
  int: "a whole number",
};

function suggestion(name: string, known: readonly string[]): string {
  const nearest = nearestName(name, known);
  return nearest === null ? "" : `, perhaps ${nearest}`;
}

/** The fields that a request may have at a path within it. */
function fieldsAt(schema: z.core.$ZodType, path: readonly PropertyKey[]): string[] {
  if (schema instanceof z.ZodPipe) return fieldsAt(schema.in, path);
  if (!(schema instanceof z.ZodObject)) return [];
  const [field, ...rest] = path;
  if (field === undefined) return Object.keys(schema.shape);
  const inner: unknown = schema.shape[String(field)];
  return inner instanceof z.ZodType ? fieldsAt(inner, rest) : [];
}
