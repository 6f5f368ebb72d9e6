import type { Deviation, DeviationProblem } from "../core/deviation.ts";
import type { JsonValue } from "./json.ts";
import { fieldName, otherWord, shapeOf, wordOf } from "./value-shape.ts";

export type { Deviation, DeviationProblem } from "../core/deviation.ts";

/** Counts deviations. */
export interface Deviations {
  /** @param value what deviates; only its shape is kept, and of the first one only */
  note(field: string, problem: DeviationProblem, value?: JsonValue, times?: number): void;
  /** The name is taken as it came, from outside. The prefix ends in a dot or is empty. */
  noteUnknown(prefix: string, name: string, value: JsonValue): void;
  /** Notes what another one has counted, as if it had been noted here. */
  add(deviations: readonly Deviation[]): void;
  list(): readonly Deviation[];
  /** Whether nothing was noted. */
  readonly isEmpty: boolean;
  clear(): void;
}

/** As many unknown fields, and as many new words, of one answer are told apart. */
const maxTold = 20;
const otherField = "other";

interface Noted {
  readonly problem: DeviationProblem;
  readonly example: string | null;
  count: number;
}

/** @param most how many unknown fields and new words are told apart: the rest is `other` */
export function createDeviations(most = maxTold): Deviations {
  // Nested: a joined key would have to be made for each of what may be millions of deviations.
  const fields = new Map<string, Map<string, Noted>>();
  const unknownFields = new Set<string>();
  const words = new Set<string>();

  const notedOf = (field: string): Map<string, Noted> => {
    let noted = fields.get(field);
    if (!noted) fields.set(field, (noted = new Map()));
    return noted;
  };

  /** False for what was not noted before. */
  const countKnown = (field: string, kind: string, times: number): boolean => {
    const known = fields.get(field)?.get(kind);
    if (known) known.count += times;
    return known !== undefined;
  };

  const count = (
    field: string,
    kind: string,
    problem: DeviationProblem,
    example: string | null,
    times: number,
  ): void => {
    if (countKnown(field, kind, times)) return;
    notedOf(field).set(kind, { problem, example, count: times });
  };

  const countWord = (field: string, word: string, times: number): void => {
    if (words.size < most) words.add(word);
    const example = words.has(word) ? word : otherWord;
    count(field, example, "unknown_value", example, times);
  };

  const countUnknown = (field: string, example: string | null, times: number): void => {
    if (unknownFields.size < most) unknownFields.add(field);
    const told = unknownFields.has(field) ? field : otherField;
    count(told, "unknown_field", "unknown_field", example, times);
  };

  return {
    note(field, problem, value, times = 1) {
      if (problem === "unknown_value") return countWord(field, wordOf(value ?? null), times);
      // The shape is made of the first one only: there may be millions.
      if (countKnown(field, problem, times)) return;
      count(field, problem, problem, value === undefined ? null : shapeOf(value), times);
    },
    noteUnknown: (prefix, name, value) => countUnknown(prefix + fieldName(name), shapeOf(value), 1),
    add(deviations) {
      for (const { field, problem, count: times, example } of deviations) {
        if (problem === "unknown_value") countWord(field, example ?? otherWord, times);
        else if (problem === "unknown_field" && field !== otherField) {
          countUnknown(field, example, times);
        } else count(field, problem, problem, example, times);
      }
    },
    list() {
      const listed: Deviation[] = [];
      for (const [field, noted] of fields) {
        for (const { problem, count: times, example } of noted.values()) {
          listed.push({ field, problem, count: times, example });
        }
      }
      return listed;
    },
    get isEmpty() {
      return fields.size === 0;
    },
    clear() {
      fields.clear();
      unknownFields.clear();
      words.clear();
    },
  };
}
