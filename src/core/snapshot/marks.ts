import { hashOf, markField, markWords, readMark } from "../text-mark.ts";
import type { MarkWords, TextMark } from "../text-mark.ts";
import type { Page } from "./page.ts";

/** Each text is read at one of so many polls, though it is known. A power of two. */
export const turns = 1_024;

const found: MarkWords = new Uint32Array(markWords);

/** Null where the sandbox must be read. */
export function markOf(page: Page, sandbox: number): TextMark | null {
  const at = markAt(page, sandbox);
  for (let word = 0; word < markWords; word++) found[word] = page.word(at + word);
  return readMark(found, 0);
}

/**
 * Whether it is a text's turn to be read though it is known. By its hashes: so each turn has as many,
 * wherever they are.
 */
export function isTurnOf(page: Page, sandbox: number, turn: number): boolean {
  const at = markAt(page, sandbox);
  return isKeyOf(turn, page.word(at + markField.steadyHash), page.word(at + markField.hash));
}

function isKeyOf(turn: number, steadyHash: number, textHash: number): boolean {
  return (((steadyHash === 0 ? textHash : steadyHash) ^ turn) & (turns - 1)) === 0;
}

/**
 * Writes the marks of one sandbox after another. Of a version that gave its room away, none.
 *
 * @param turn null: it is no text's turn to be read
 * @returns of how many: of none from one on that must be read
 */
export function copyMarks(
  page: Page,
  { begin, end }: { readonly begin: number; readonly end: number },
  turn: number | null,
  into: Uint32Array,
): number {
  const { own } = page.held;
  if (!own) return 0;
  const from = markAt(page, begin);
  let sandbox = begin;
  for (let at = from; sandbox < end; sandbox++, at += markWords) {
    const textHash = own[at + markField.hash] ?? 0;
    const steadyHash = own[at + markField.steadyHash] ?? 0;
    if ((own[at + markField.length] ?? 0) === 0) break;
    if (turn !== null && isKeyOf(turn, steadyHash, textHash)) break;
  }
  const count = sandbox - begin;
  into.set(own.subarray(from, from + count * markWords));
  return count;
}

export function isMarkOf(page: Page, sandbox: number, length: number, textHash: bigint): boolean {
  const at = markAt(page, sandbox);
  if (page.word(at + markField.length) !== length) return false;
  const hashAt = at + markField.hash;
  return hashOf(page.word(hashAt), page.word(hashAt + 1)) === textHash;
}

/** The first word of the text's hash; null where that is not known, or there is no mark. */
export function markKeyOf(page: Page, sandbox: number): number | null {
  const hashAt = markAt(page, sandbox) + markField.hash;
  const key = page.word(hashAt);
  return key === 0 && page.word(hashAt + 1) === 0 ? null : key;
}

/** Where the words of a sandbox's mark begin. */
export function markAt(page: Page, sandbox: number): number {
  return page.recordWords + sandbox * markWords;
}

/**
 * The mark of a sandbox of which nothing else changed. A version that gave its room away keeps what it has:
 * whoever still reads a listing beside it is too late.
 */
export function remark(page: Page, sandbox: number, mark: MarkWords | null): void {
  const { own } = page.held;
  if (own) putMark(own, markAt(page, sandbox), mark);
}

/** @param from where in the other words the mark is */
export function putMark(words: Uint32Array, at: number, mark: Uint32Array | null, from = 0): void {
  for (let word = 0; word < markWords; word++) words[at + word] = mark?.[from + word] ?? 0;
}
