import { type OpenStatuses, type TextMark, wordsOfExpected } from "../listing-intake.ts";
import { markWords } from "./page-records.ts";
import type { Page } from "./page.ts";

/**
 * The words of a mark, behind the records of a page: both hashes in two words each, the length (0 where
 * there is none), and in one word the note and, above it, which statuses are open.
 */
const field = { hash: 0, steadyHash: 2, length: 4, note: 5 } as const;

const openStatuses: readonly OpenStatuses[] = ["none", "own_first", "own_last"];
const openShift = 16;
const mostNote = 0xffff;

/** Each text is read at one of so many polls, though it is known. A power of two. */
export const turns = 1_024;

/** Through which a hash is taken out of its two words, and apart into them. */
const hash = new BigUint64Array(1);
const hashWords = new Uint32Array(hash.buffer);

/** Null where the sandbox must be read. */
export function markOf(page: Page, sandbox: number): TextMark | null {
  const at = markAt(page, sandbox);
  const length = page.word(at + field.length);
  if (length === 0) return null;
  const note = page.word(at + field.note);
  return {
    length,
    hash: hashAt(page, at + field.hash),
    steadyHash: hashAt(page, at + field.steadyHash),
    openStatuses: openStatuses[note >>> openShift] ?? "none",
    note: note & mostNote,
  };
}

/**
 * Whether it is a text's turn to be read though it is known. By its hashes: so each turn has as many,
 * wherever they are.
 */
export function isTurnOf(page: Page, sandbox: number, turn: number): boolean {
  const at = markAt(page, sandbox);
  return isKeyOf(turn, page.word(at + field.steadyHash), page.word(at + field.hash));
}

function isKeyOf(turn: number, steadyHash: number, textHash: number): boolean {
  return (((steadyHash === 0 ? textHash : steadyHash) ^ turn) & (turns - 1)) === 0;
}

/**
 * Writes by what texts are known, of one sandbox after another. Of a version that gave its room away, none.
 *
 * @param turn null: it is no text's turn to be read
 * @returns of how many: of none from one on that must be read, or of which there is anything to remark
 */
export function copyMarks(
  page: Page,
  { begin, end }: { readonly begin: number; readonly end: number },
  turn: number | null,
  into: Uint32Array,
): number {
  const { own } = page.held;
  if (!own) return 0;
  let at = markAt(page, begin);
  let to = 0;
  for (let sandbox = begin; sandbox < end; sandbox++, at += markWords, to += wordsOfExpected) {
    const length = own[at + field.length] ?? 0;
    const low = own[at + field.hash] ?? 0;
    if (length === 0 || ((own[at + field.note] ?? 0) & mostNote) !== 0) return sandbox - begin;
    if (turn !== null && isKeyOf(turn, own[at + field.steadyHash] ?? 0, low))
      return sandbox - begin;
    into[to] = length;
    into[to + 1] = low;
    into[to + 2] = own[at + field.hash + 1] ?? 0;
  }
  return end - begin;
}

export function isMarkOf(page: Page, sandbox: number, length: number, textHash: bigint): boolean {
  const at = markAt(page, sandbox);
  return page.word(at + field.length) === length && hashAt(page, at + field.hash) === textHash;
}

/** The first word of the hash; null where there is no mark. */
export function markKeyOf(page: Page, sandbox: number): number | null {
  const at = markAt(page, sandbox);
  return page.word(at + field.length) === 0 ? null : page.word(at + field.hash);
}

/** Where the words of a sandbox's mark begin. */
export function markAt(page: Page, sandbox: number): number {
  return page.recordWords + sandbox * markWords;
}

/**
 * The mark of a sandbox of which nothing else changed. A version that gave its room away keeps what it has:
 * whoever still reads a listing beside it is too late.
 */
export function remark(page: Page, sandbox: number, mark: TextMark | null): void {
  const { own } = page.held;
  if (own) writeMark(own, markAt(page, sandbox), mark);
}

export function writeMark(words: Uint32Array, at: number, mark: TextMark | null): void {
  writeHash(words, at + field.hash, mark?.hash ?? 0n);
  writeHash(words, at + field.steadyHash, mark?.steadyHash ?? 0n);
  words[at + field.length] = mark?.length ?? 0;
  const open = openStatuses.indexOf(mark?.openStatuses ?? "none");
  words[at + field.note] = (mark?.note ?? 0) | (open << openShift);
}

function hashAt(page: Page, word: number): bigint {
  hashWords[0] = page.word(word);
  hashWords[1] = page.word(word + 1);
  return hash[0] ?? 0n;
}

function writeHash(words: Uint32Array, at: number, value: bigint): void {
  hash[0] = value;
  words[at] = hashWords[0] ?? 0;
  words[at + 1] = hashWords[1] ?? 0;
}
