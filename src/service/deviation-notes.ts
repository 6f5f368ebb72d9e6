import { kindOf } from "../fleet/deviation.ts";
import type { Deviation } from "./deviations.ts";

const maxKept = 1000;
const maxParts = 64;

/**
 * Numbers what was found to deviate in one sandbox, so that it can be said again while its text stays the same.
 * Sandboxes deviate in few ways, however many there are: what is equal but for examples gets the same number, and the
 * first of it is kept.
 */
export class DeviationNotes {
  private readonly notes: (readonly Deviation[])[] = [[]];
  private readonly numbers = new Map<string, number>();

  /** 0 for none; null where there are too many different ones to keep these. */
  numberOf(deviations: readonly Deviation[]): number | null {
    if (deviations.length === 0) return 0;
    if (deviations.length > maxParts) return null;
    const key = JSON.stringify(deviations.map((each) => [...kindOf(each), each.count]));
    const known = this.numbers.get(key);
    if (known !== undefined) return known;
    if (this.notes.length > maxKept) return null;
    const number = this.notes.length;
    this.numbers.set(key, number);
    // The name of a field may be a part of a longer text, and hold on to it: a clone does not.
    this.notes.push(structuredClone(deviations));
    return number;
  }

  get(number: number): readonly Deviation[] {
    const note = this.notes[number];
    if (!note) throw new RangeError("a note's number must come from the same reader");
    return note;
  }
}
