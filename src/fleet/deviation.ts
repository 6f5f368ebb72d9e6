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

/** For a person, on one line. It quotes nothing of the service but names of fields and words. */
export function problemText({ field, problem, example }: Omit<Deviation, "count">): string {
  const found = example === null ? "" : ` (${example})`;
  switch (problem) {
    case "unknown_field":
      return field === "other"
        ? "more fields that the interface does not have"
        : `${field} is a field that the interface does not have${found}`;
    case "unknown_value":
      return `${field} has a value that the interface does not have${found}`;
    case "missing":
      return `${field} is missing`;
    case "null":
      return `${field} is null, which it may not be`;
    case "empty":
      return `${field} is empty`;
    case "wrong_type":
      return `${field} has the wrong type${found}`;
    case "wrong_format":
      return `${field} has the wrong format${found}`;
    case "too_long":
      return `${field} is longer than what is kept${found}`;
    case "too_many":
      return `${field} has more items than are kept`;
    case "invalid_character":
      return `${field} holds a character that cannot be kept${found}`;
    case "duplicate":
      return `${field} occurs more than once`;
    case "mismatch":
      return `${field} is not the number of items that are listed`;
    case "operation_missing":
      return "there is no such operation at the base address (404)";
    case "redirected":
      return "the response is a redirect, which is not followed";
  }
}
