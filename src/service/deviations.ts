export type DeviationProblem =
  | "unknown_field"
  | "unknown_value"
  | "missing"
  | "null"
  | "empty"
  | "wrong_type"
  | "too_long"
  | "too_many"
  | "duplicate"
  | "mismatch";

/** Where answers differ from what the interface promises. Never holds a value, only field names. */
export interface Deviation {
  /** Such as `local_sandboxes[].servers[].status`; `other` past the twentieth unknown field. */
  readonly field: string;
  readonly problem: DeviationProblem;
  readonly count: number;
}

/** Counts the deviations of one answer. */
export interface Deviations {
  note(field: string, problem: DeviationProblem, count?: number): void;
  /** The name is taken as it came, from outside. The prefix ends in a dot or is empty. */
  noteUnknown(prefix: string, name: string): void;
  list(): readonly Deviation[];
}

const maxUnknownFields = 20;
const maxFieldNameLength = 64;

export function createDeviations(): Deviations {
  // Nested: a joined key would have to be made for each of what may be millions of deviations.
  const counts = new Map<string, Map<DeviationProblem, number>>();
  const unknownFields = new Set<string>();

  const note = (field: string, problem: DeviationProblem, count = 1): void => {
    let ofField = counts.get(field);
    if (!ofField) counts.set(field, (ofField = new Map()));
    ofField.set(problem, (ofField.get(problem) ?? 0) + count);
  };

  return {
    note,
    noteUnknown(prefix, name) {
      const field = prefix + printable(name);
      if (unknownFields.size < maxUnknownFields) unknownFields.add(field);
      note(unknownFields.has(field) ? field : "other", "unknown_field");
    },
    list: () =>
      [...counts].flatMap(([field, ofField]) =>
        Array.from(ofField, ([problem, count]) => ({ field, problem, count })),
      ),
  };
}

/** The name comes from outside and ends up in logs and labels. */
function printable(name: string): string {
  return name.slice(0, maxFieldNameLength).replaceAll(/[^\x21-\x7e]/g, "?");
}
