import type { CameTexts, ListingIntake } from "../../src/core/listing-intake.ts";
import { statuses as allStatuses } from "../../src/core/model.ts";
import type { Status } from "../../src/core/model.ts";
import { markWords, readMark, writeMark } from "../../src/core/text-mark.ts";
import type { TextMark } from "../../src/core/text-mark.ts";

/** A text that came where one was expected. */
export interface CameText {
  /** Null: the very one that was expected. */
  readonly other: TextMark | null;
  /** The known ones of the other text, in its order. */
  readonly statuses: readonly Status[];
}

export const theSame: CameText = { other: null, statuses: [] };

/** As a reader tells of them. */
function cameTexts(texts: readonly CameText[], expected: Uint32Array): CameTexts {
  const marks = Uint32Array.from(expected);
  for (const [at, { other }] of texts.entries()) {
    if (other) writeMark(marks, at * markWords, other);
  }
  return {
    marks,
    given: Uint32Array.from(texts, ({ other, statuses }) => (other ? 1 + statuses.length : 0)),
    statuses: Uint8Array.from(
      texts.flatMap(({ statuses }) => statuses.map((status) => allStatuses.indexOf(status))),
    ),
  };
}

/** The marks that an intake expects next, and how to tell it what came. */
export function nextTexts(intake: ListingIntake, most: number) {
  const words = new Uint32Array(most * markWords);
  const count = intake.expectedTexts(words, most);
  return {
    marks: Array.from({ length: count }, (_, at) => readMark(words, at * markWords)),
    take(texts: readonly CameText[]): void {
      intake.takeTexts(texts.length, cameTexts(texts, words));
    },
  };
}
