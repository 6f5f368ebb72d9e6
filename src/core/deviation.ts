/** What an answer can say of its operation, whatever it was asked for. */
export const operationProblems = [
  /** The answer is that of a path which there is not, whatever id is asked for. */
  "operation_missing",
  /** The answer sends elsewhere, where nobody follows: a key is sent to no other address. */
  "redirected",
] as const;
export type OperationProblem = (typeof operationProblems)[number];

/** In which way a part of an answer is not as the service's interface has it. A closed set. */
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
  /** A NUL character, or half a surrogate pair in an id: no store keeps such a text as it is. */
  "invalid_character",
  "duplicate",
  "mismatch",
  ...operationProblems,
] as const;
export type DeviationProblem = (typeof deviationProblems)[number];

/** The field of what is said of an answer as a whole. */
export const wholeAnswer = "(answer)";

/**
 * Where answers differ from what the interface promises. No value is in it, but for a new word in an
 * enumeration: only names of fields and shapes of values.
 */
export interface Deviation {
  /** Such as `local_sandboxes[].servers[].status`; `other` past so many unknown fields. */
  readonly field: string;
  readonly problem: DeviationProblem;
  readonly count: number;
  /** Of the first one that was read: its shape, such as `text of 12 characters`, or the new word in quotes. */
  readonly example: string | null;
}

/** What is counted and told of together has equal parts: of an enumeration each new word is of a kind. */
export function kindOf({
  field,
  problem,
  example,
}: Omit<Deviation, "count">): readonly [string, DeviationProblem, string | null] {
  return [field, problem, problem === "unknown_value" ? example : null];
}
