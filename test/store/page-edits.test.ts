import { describe, expect, it } from "vitest";
import { sandboxWords, serverWords } from "../../src/core/snapshot/page-records.ts";
import { applyEdits } from "../../src/store/page-edits.ts";
import { restatementLength } from "../../src/store/restatement.ts";

const restatementBit = 2 ** 31;
const pageId = 7;

function pageWords(): Uint32Array<ArrayBuffer> {
  return new Uint32Array(sandboxWords + 4 * serverWords);
}

function apply(edits: readonly number[], words = pageWords()): Uint32Array {
  const pages = new Map([[pageId, { sandboxCount: 1, words }]]);
  applyEdits(pages, Uint32Array.from(edits), () => true);
  return words;
}

describe("edits of the store", () => {
  it("give the words of a page that they name another value", () => {
    const words = apply([pageId, 2, 5, 50, 9, 90]);
    expect([words[5], words[9]]).toEqual([50, 90]);
    expect(words.filter((word) => word !== 0)).toHaveLength(2);
  });

  it("of pages that are gone, or hold them already, change nothing", () => {
    const words = pageWords();
    const length = restatementLength({ sandboxCount: 1, words });
    const restatement = [pageId, restatementBit + length, ...words.slice(0, length).fill(0xff)];
    const passed = [pageId, 1, 5, 50, ...restatement, pageId + 1, 1, 5, 50];
    const edits = Uint32Array.from([...passed, pageId + 2, 1, 5, 50]);
    const later = { sandboxCount: 1, words: pageWords() };
    const pages = new Map([
      [pageId, { sandboxCount: 1, words }],
      [pageId + 2, later],
    ]);
    const work = applyEdits(pages, edits, (page) => page !== pageId);
    // As it is counted where they are stored, or they would count less after a start.
    expect(work).toBe(applyEdits(new Map(), edits, () => true));
    expect(work).toBeGreaterThan(edits.length);
    expect(words).toEqual(pageWords());
    expect(later.words[5]).toBe(50);
  });

  it.each([
    ["the value of a word", [pageId, 1, 5]],
    ["how many there are", [pageId]],
    ["a word of a restatement", [pageId, restatementBit + 6, 0, 0, 0, 0, 0]],
  ])("that lack %s are refused", (_, edits) => {
    expect(() => apply(edits)).toThrow("an edit of the store is not whole");
  });

  it.each([
    ["of a word that the page does not have", [pageId, 1, pageWords().length, 1]],
    ["that restate fewer servers", [pageId, restatementBit + 5, 0, 0, 0, 0, 0]],
    ["that restate more servers", [pageId, restatementBit + 7, 0, 0, 0, 0, 0, 0, 0]],
  ])("%s are refused", (_, edits) => {
    expect(() => apply(edits)).toThrow("an edit of the store fits no page");
  });
});
