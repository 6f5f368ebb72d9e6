import type { Deviation, DeviationProblem } from "../fleet/deviation.ts";
import type { JsonValue } from "./json.ts";
import { fieldName, otherWord, shapeOf, wordOf } from "./value-shape.ts";

export type { Deviation, DeviationProblem } from "../fleet/deviation.ts";

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

/** How many unknown fields, and how many new words, of one response are told apart. */
const maxDistinct = 20;
const otherField = "other";

interface Noted {
  readonly problem: DeviationProblem;
  readonly example: string | null;
  count: number;
}

/** @param most how many unknown fields and new words are told apart: the rest is `other` */
export function createDeviations(most = maxDistinct): Deviations {
  return new CountedDeviations(most);
}

class CountedDeviations implements Deviations {
  private readonly most: number;
  // Nested: a joined key would have to be made for each of what may be millions of deviations.
  private readonly fields = new Map<string, Map<string, Noted>>();
  // Made when they are first needed: most answers keep to the interface.
  private unknownFields: Set<string> | null = null;
  private words: Set<string> | null = null;

  constructor(most: number) {
    this.most = most;
  }

  get isEmpty(): boolean {
    return this.fields.size === 0;
  }

  note(field: string, problem: DeviationProblem, value?: JsonValue, times = 1): void {
    if (problem === "unknown_value") return this.countWord(field, wordOf(value ?? null), times);
    // The shape is made of the first one only: there may be millions.
    if (this.countKnown(field, problem, times)) return;
    this.count(field, problem, problem, value === undefined ? null : shapeOf(value), times);
  }

  noteUnknown(prefix: string, name: string, value: JsonValue): void {
    this.countUnknown(prefix + fieldName(name), shapeOf(value), 1);
  }

  add(deviations: readonly Deviation[]): void {
    for (const { field, problem, count: times, example } of deviations) {
      if (problem === "unknown_value") this.countWord(field, example ?? otherWord, times);
      else if (problem === "unknown_field" && field !== otherField) {
        this.countUnknown(field, example, times);
      } else this.count(field, problem, problem, example, times);
    }
  }

  list(): readonly Deviation[] {
    const listed: Deviation[] = [];
    for (const [field, noted] of this.fields) {
      for (const { problem, count: times, example } of noted.values()) {
        listed.push({ field, problem, count: times, example });
      }
    }
    return listed;
  }

  clear(): void {
    if (this.isEmpty) return;
    this.fields.clear();
    this.unknownFields = this.words = null;
  }

  /** False for what was not noted before. */
  private countKnown(field: string, kind: string, times: number): boolean {
    const known = this.fields.get(field)?.get(kind);
    if (known) known.count += times;
    return known !== undefined;
  }

  private count(
    field: string,
    kind: string,
    problem: DeviationProblem,
    example: string | null,
    times: number,
  ): void {
    if (this.countKnown(field, kind, times)) return;
    let noted = this.fields.get(field);
    if (!noted) this.fields.set(field, (noted = new Map()));
    noted.set(kind, { problem, example, count: times });
  }

  private countWord(field: string, word: string, times: number): void {
    const words = (this.words ??= new Set());
    // It stands for many: what is counted here once more has it already.
    if (word !== otherWord && words.size < this.most) words.add(word);
    const example = words.has(word) ? word : otherWord;
    this.count(field, example, "unknown_value", example, times);
  }

  private countUnknown(field: string, example: string | null, times: number): void {
    const unknownFields = (this.unknownFields ??= new Set());
    if (unknownFields.size < this.most) unknownFields.add(field);
    const counted = unknownFields.has(field) ? field : otherField;
    this.count(counted, "unknown_field", "unknown_field", example, times);
  }
}
