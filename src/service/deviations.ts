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

/** Counts deviations. */
export interface Deviations {
  note(field: string, problem: DeviationProblem, count?: number): void;
  /** The name is taken as it came, from outside. The prefix ends in a dot or is empty. */
  noteUnknown(prefix: string, name: string): void;
  /** Notes what another one has counted, as if it had been noted here. */
  add(deviations: readonly Deviation[]): void;
  list(): readonly Deviation[];
  /** Whether nothing was noted. */
  readonly isEmpty: boolean;
  clear(): void;
}

/** As many unknown fields of one answer are told apart. */
const maxUnknownFields = 20;
const maxFieldNameLength = 64;
const otherField = "other";

/** @param maxUnknown how many unknown fields are told apart: the rest is `other` */
export function createDeviations(maxUnknown = maxUnknownFields): Deviations {
  // Nested: a joined key would have to be made for each of what may be millions of deviations.
  const counts = new Map<string, Map<DeviationProblem, number>>();
  const unknownFields = new Set<string>();

  const note = (field: string, problem: DeviationProblem, count = 1): void => {
    let ofField = counts.get(field);
    if (!ofField) counts.set(field, (ofField = new Map()));
    ofField.set(problem, (ofField.get(problem) ?? 0) + count);
  };
  const noteUnknownField = (field: string, count: number): void => {
    if (unknownFields.size < maxUnknown) unknownFields.add(field);
    note(unknownFields.has(field) ? field : otherField, "unknown_field", count);
  };

  return {
    note,
    noteUnknown: (prefix, name) => noteUnknownField(prefix + printable(name), 1),
    add(deviations) {
      for (const { field, problem, count } of deviations) {
        const isNamed = problem === "unknown_field" && field !== otherField;
        if (isNamed) noteUnknownField(field, count);
        else note(field, problem, count);
      }
    },
    list() {
      const listed: Deviation[] = [];
      for (const [field, ofField] of counts) {
        for (const [problem, count] of ofField) listed.push({ field, problem, count });
      }
      return listed;
    },
    get isEmpty() {
      return counts.size === 0;
    },
    clear() {
      counts.clear();
      unknownFields.clear();
    },
  };
}

/** The name comes from outside and ends up in logs and labels. */
function printable(name: string): string {
  return name.slice(0, maxFieldNameLength).replaceAll(/[^\x21-\x7e]/g, "?");
}
