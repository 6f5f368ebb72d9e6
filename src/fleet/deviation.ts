/** What a response can show of its operation, whatever it was asked for. */
export const operationProblems = [
  /** The response is that of a path that does not exist. */
  "operation_missing",
  /** The response redirects, which is not followed: a key is sent to no other address. */
  "redirected",
] as const;
export type OperationProblem = (typeof operationProblems)[number];

/** How a part of a response deviates from the service's interface. A closed set. */
export const deviationProblems = [
  "unknown_field",
  "unknown_value",
  "missing",
  "null",
  "empty",
  "wrong_type",
  "wrong_format",
  "too_long",
  "too_many",
  /** A NUL character, or half a surrogate pair in an id: no store keeps such a text unchanged. */
  "invalid_character",
  "duplicate",
  "mismatch",
  ...operationProblems,
] as const;
export type DeviationProblem = (typeof deviationProblems)[number];

/** The field of a deviation of a response as a whole. */
export const wholeAnswer = "(answer)";

/**
 * Where responses deviate from the interface. It holds names of fields and shapes of values, and no value but for a
 * new word in an enumeration.
 */
export interface Deviation {
  /** Such as `local_sandboxes[].servers[].status`; `other` past a number of unknown fields. */
  readonly field: string;
  readonly problem: DeviationProblem;
  readonly count: number;
  /** The shape of the first such value, such as `text of 12 characters`, or the new word in quotes. */
  readonly example: string | null;
}

/** Deviations with equal parts are counted together: each new word of an enumeration is a kind of its own. */
export function kindOf({
  field,
  problem,
  example,
}: Omit<Deviation, "count">): readonly [string, DeviationProblem, string | null] {
  return [field, problem, problem === "unknown_value" ? example : null];
}

/** What follows the field; a `*` stands for the example. */
const phrases: Readonly<Record<Exclude<DeviationProblem, OperationProblem>, string>> = {
  unknown_field: "is a field that the interface does not have*",
  unknown_value: "has a value that the interface does not have*",
  missing: "is missing",
  null: "is null, which it may not be",
  empty: "is empty",
  wrong_type: "has the wrong type*",
  wrong_format: "has the wrong format*",
  too_long: "is longer than what is kept*",
  too_many: "has more items than are kept",
  invalid_character: "contains a character that cannot be kept*",
  duplicate: "occurs more than once",
  mismatch: "is not the number of items that are listed",
};

/** On one line. It quotes nothing of the service but names of fields and words. */
export function problemText({ field, problem, example }: Omit<Deviation, "count">): string {
  if (problem === "operation_missing") {
    return "there is no such operation at the base address (404)";
  }
  if (problem === "redirected") return "the response is a redirect, which is not followed";
  if (problem === "unknown_field" && field === "other") {
    return "more fields that the interface does not have";
  }
  const found = example === null ? "" : ` (${example})`;
  return `${field} ${phrases[problem].replace("*", () => found)}`;
}
