import type { Deviation } from "../core/deviation.ts";
import type { DriftRecord } from "../core/drift-ledger.ts";

/** For a person, on one line. Nothing that the service says is in it, save names of fields and words. */
export function describeDrift(record: DriftRecord): string {
  return `${record.operation} in ${record.region}: ${problemText(record)}`;
}

/** What is wrong with which field. */
export function problemText({ field, problem, example }: Omit<Deviation, "count">): string {
  const found = example === null ? "" : ` (${example})`;
  switch (problem) {
    case "unknown_field":
      return field === "other"
        ? "more fields that the interface does not have"
        : `${field} is a field that the interface does not have${found}`;
    case "unknown_value":
      return `${field} has a word that the interface does not have${found}`;
    case "missing":
      return `${field} is missing`;
    case "null":
      return `${field} is null, which it may not be`;
    case "empty":
      return `${field} is empty`;
    case "wrong_type":
      return `${field} is of another type${found}`;
    case "wrong_format":
      return `${field} is written in another way${found}`;
    case "too_long":
      return `${field} is longer than what is kept${found}`;
    case "too_many":
      return `${field} has more items than are kept`;
    case "invalid_character":
      return `${field} holds a character that cannot be kept${found}`;
    case "duplicate":
      return `${field} comes more than once`;
    case "mismatch":
      return `${field} is not the number of items that are listed`;
    case "operation_missing":
      return "there is no such operation at the base address (404)";
    case "redirected":
      return "the answer is a redirect, which is not followed";
  }
}
