import * as fc from "fast-check";
import { expect, it } from "vitest";
import { markWords, readMark, writeMark } from "../../src/core/text-mark.ts";
import type { TextMark } from "../../src/core/text-mark.ts";

const hash = fc.bigInt({ min: 1n, max: 2n ** 64n - 1n });
const mark: fc.Arbitrary<TextMark> = fc
  .record({
    length: fc.integer({ min: 20_000, max: 2 ** 31 }),
    hash,
    steadyHash: hash,
    shorter: fc.oneof(fc.integer({ min: 0, max: 16_383 }), fc.constantFrom(0, 16_383)),
    openStatuses: fc.constantFrom("none", "own_first", "own_last"),
    note: fc.integer({ min: 0, max: 65_535 }),
  })
  .map(({ shorter, ...rest }) => ({ ...rest, steadyLength: rest.length - shorter }));

function writtenBeside(words: Uint32Array, written: TextMark | null): TextMark | null {
  writeMark(words, markWords, written);
  return readMark(words, markWords);
}

it("is read from its words as it was written, which touch no others", () => {
  fc.assert(
    fc.property(mark, fc.boolean(), (whole, isSteady) => {
      const written = isSteady ? whole : { ...whole, steadyHash: 0n, steadyLength: 0 };
      const words = new Uint32Array(3 * markWords).fill(7);
      expect(writtenBeside(words, written)).toEqual(written);
      expect(words.filter((_, at) => at < markWords || at >= 2 * markWords)).toEqual(
        new Uint32Array(2 * markWords).fill(7),
      );
      expect(writtenBeside(words, null)).toBeNull();
    }),
  );
});

it("knows no steady form that is too much shorter than its text, and all else of it", () => {
  const known: TextMark = {
    length: 30_000,
    hash: 5n,
    steadyHash: 9n,
    steadyLength: 30_000 - 16_384,
    openStatuses: "own_last",
    note: 65_535,
  };
  const read = writtenBeside(new Uint32Array(2 * markWords), known);
  expect(read).toEqual({ ...known, steadyHash: 0n, steadyLength: 0 });
});
