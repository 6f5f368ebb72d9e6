import { kindOf } from "../../core/deviation.ts";
import type { Deviation } from "../deviations.ts";

/** What reading one sandbox found to remark, so that it need not be read again to be counted again. */
export interface SandboxNote {
  readonly deviations: readonly Deviation[];
}

/**
 * Gives notes that are equal but for examples the same number, and of those keeps the first one. Sandboxes deviate
 * in few ways, however many there are.
 */
export interface DeviationNotes {
  /** Null when there are too many different ones to keep this one. */
  numberOf(note: SandboxNote): number | null;
  /** Takes a number that `numberOf` gave. */
  get(number: number): SandboxNote;
}

const maxNotes = 1000;
const maxDeviations = 64;

const nothing: SandboxNote = { deviations: [] };

export function createDeviationNotes(): DeviationNotes {
  const notes: SandboxNote[] = [nothing];
  const numbers = new Map<string, number>();
  return {
    numberOf({ deviations }) {
      if (deviations.length === 0) return 0;
      if (deviations.length > maxDeviations) return null;
      const key = JSON.stringify(deviations.map((each) => [...kindOf(each), each.count]));
      const known = numbers.get(key);
      if (known !== undefined) return known;
      if (notes.length > maxNotes) return null;
      const number = notes.length;
      numbers.set(key, number);
      // A field name that was cut off may hold on to the text it was cut off from: a clone does not.
      notes.push({ deviations: structuredClone(deviations) });
      return number;
    },
    get(number) {
      const note = notes[number];
      if (!note) throw new RangeError("A mark must come from the same reader's memory");
      return note;
    },
  };
}
