import { Buffer } from "node:buffer";
import type { Legend, Page } from "../core/snapshot/page.ts";
import type { Words } from "../core/snapshot/page-room.ts";
import type { Patch } from "../core/snapshot/page-words.ts";
import { withRoom } from "../core/snapshot/with-room.ts";
import { applyRestatement, restatementLength, restatementOf } from "./restatement.ts";
import type { Records } from "./restatement.ts";
import { wordsOf } from "./word-bytes.ts";

/** Set in the number of words of a restatement. */
const restatementBit = 2 ** 31;

/** Of one word, which tells of some servers: to write those takes as long as this many words of plain edits. */
const restatementWork = 4;

/**
 * Most polls change a few words of many pages. Those words are stored, not the pages: for each page
 * its id, how many words changed, and of each its place and its value. Where many changed, there may be a
 * restatement instead: the page's id, how many words that has with the highest bit set, and those.
 */
export class EditWords {
  private words = new Uint32Array(0);
  private count = 0;
  private restated = 0;

  get length(): number {
    return this.count;
  }

  /** What it takes to apply them, as `applyEdits` tells. */
  get work(): number {
    return workOf(this.count, this.restated);
  }

  push(first: number, second: number): void {
    this.words = withRoom(this.words, this.count + 2);
    this.words[this.count++] = first;
    this.words[this.count++] = second;
  }

  pushRestatement(pageId: number, words: Words): void {
    this.push(pageId, restatementBit + words.length);
    this.words = withRoom(this.words, this.count + words.length);
    this.words.set(words, this.count);
    this.count += words.length;
    this.restated += words.length;
  }

  /** How many words of the page changed whose edits begin there. */
  endPage(start: number): void {
    this.words[start + 1] = (this.count - start) / 2 - 1;
  }

  /** Takes back all from there on. */
  cut(start: number): void {
    this.count = start;
  }

  toWords(): Words {
    return this.words.slice(0, this.count);
  }
}

/** A page with more of its words changed than one in this is restated, or stored whole. */
const largestShare = 8;

/** Compared at once, before they are compared one by one. */
const blockWords = 256;

/** Adds what takes one page to another; false when the other must be stored whole. */
export function addEdit(edits: EditWords, before: Page, after: Page): boolean {
  const patch = after.patchOver(before);
  if (patch) return addPatch(edits, before, after, patch);
  if (!isAlike(before, after)) return false;
  const { id, sandboxCount, words } = after;
  const pair = {
    id,
    before: { sandboxCount, words: before.words },
    after: { sandboxCount, words },
  };
  const most = Math.floor(words.length / largestShare);
  const fewer = Math.floor((restatementLength(pair.after) * restatementWork) / 2);
  return (
    addWords(edits, pair, Math.min(fewer, most)) ||
    addRestatement(edits, pair) ||
    addWords(edits, pair, most)
  );
}

/** Two versions of a page. */
interface RecordsPair {
  readonly id: number;
  readonly before: Records;
  readonly after: Records;
}

/** @returns whether no more words are different than `most` */
function addWords(edits: EditWords, { id, before, after }: RecordsPair, most: number): boolean {
  const { words } = after;
  const { words: wordsBefore } = before;
  const bytes = asBuffer(words);
  const bytesBefore = asBuffer(wordsBefore);
  const start = edits.length;
  const longest = start + 2 + most * 2;
  edits.push(id, 0);
  for (let block = 0; block < words.length; block += blockWords) {
    const end = Math.min(block + blockWords, words.length);
    if (bytes.compare(bytesBefore, block * 4, end * 4, block * 4, end * 4) === 0) continue;
    for (let at = block; at < end; at++) {
      if (words[at] === wordsBefore[at]) continue;
      if (edits.length === longest) {
        edits.cut(start);
        return false;
      }
      edits.push(at, words[at] ?? 0);
    }
  }
  if (edits.length === start + 2) edits.cut(start);
  else edits.endPage(start);
  return true;
}

/** Of a page that has a patch over the other one nothing else is compared. */
function addPatch(edits: EditWords, before: Page, after: Page, patch: Patch): boolean {
  const { log, begin, end } = patch;
  const start = edits.length;
  edits.push(after.id, 0);
  for (let entry = begin; entry < end; entry++) {
    const at = log.placeOf(entry);
    // The marks behind the records are not stored.
    if (at >= before.recordWords || log.valueOf(entry) === before.word(at)) continue;
    edits.push(at, log.valueOf(entry));
  }
  const changed = (edits.length - start) / 2 - 1;
  const isShort = changed * largestShare <= after.recordWords;
  if (changed === 0 || !isShort) edits.cut(start);
  else edits.endPage(start);
  return isShort;
}

function addRestatement(edits: EditWords, { id, before, after }: RecordsPair): boolean {
  const restatement = restatementOf(before, after);
  if (restatement) edits.pushRestatement(id, restatement);
  return restatement !== null;
}

/** @throws {RangeError} when they are not whole */
export function readEdits(bytes: Uint8Array): Words {
  if (bytes.length % 4 !== 0) throw isNotWhole();
  return wordsOf(bytes);
}

/**
 * @returns what it took: how many words of plain edits take as much
 * @throws {RangeError} when the edits are not of these pages
 */
export function applyEdits(
  pages: ReadonlyMap<number, Records>,
  edits: Words,
  isCurrent: (pageId: number) => boolean,
): number {
  let at = 0;
  let restated = 0;
  while (at < edits.length) {
    const pageId = edits[at] ?? 0;
    const told = edits[at + 1] ?? 0;
    const isRestated = told >= restatementBit;
    const count = isRestated ? told - restatementBit : told * 2;
    const begin = at + 2;
    at = begin + count;
    if (at > edits.length) throw isNotWhole();
    if (isRestated) restated += count;
    const page = isCurrent(pageId) ? pages.get(pageId) : undefined;
    if (!page) continue;
    if (isRestated) applyRestated(page, edits.subarray(begin, at));
    else applyWords(page, edits, begin, at);
  }
  return workOf(edits.length, restated);
}

function workOf(words: number, restated: number): number {
  return words + restated * (restatementWork - 1);
}

function applyRestated(page: Records, restatement: Words): void {
  if (restatement.length !== restatementLength(page)) throw fitsNoPage();
  applyRestatement(page, restatement);
}

function applyWords({ words }: Records, edits: Words, begin: number, end: number): void {
  for (let at = begin; at < end; at += 2) {
    const word = edits[at] ?? 0;
    if (word >= words.length) throw fitsNoPage();
    words[word] = edits[at + 1] ?? 0;
  }
}

function isNotWhole(): RangeError {
  return new RangeError("an edit of the store is not whole");
}

function fitsNoPage(): RangeError {
  return new RangeError("an edit of the store fits no page");
}

function asBuffer({ buffer, byteOffset, byteLength }: Page["words"]): Buffer {
  return Buffer.from(buffer, byteOffset, byteLength);
}

function isAlike(before: Page, after: Page): boolean {
  return (
    before.id === after.id &&
    before.sandboxCount === after.sandboxCount &&
    before.recordWords === after.recordWords &&
    isSameLegend(before.legend, after.legend)
  );
}

/** Equal kinds may be two objects: then the page is stored whole, which is no less right. */
function isSameLegend(before: Legend, after: Legend): boolean {
  return (
    before === after ||
    (isSameList(before.texts, after.texts) && isSameList(before.kinds, after.kinds))
  );
}

function isSameList<Item>(before: readonly Item[], after: readonly Item[]): boolean {
  return before.length === after.length && before.every((item, index) => item === after[index]);
}
