import { Buffer } from "node:buffer";
import type { Legend, Page } from "../core/snapshot/page.ts";
import type { Patch } from "../core/snapshot/page-words.ts";
import { withRoom } from "../core/snapshot/with-room.ts";

/**
 * Most polls change a few words of many pages. Those words are stored, not the pages: for each page
 * its id, how many words changed, and of each its place and its value.
 */
export class EditWords {
  private words = new Uint32Array(0);
  private count = 0;

  get length(): number {
    return this.count;
  }

  push(first: number, second: number): void {
    this.words = withRoom(this.words, this.count + 2);
    this.words[this.count++] = first;
    this.words[this.count++] = second;
  }

  /** How many words of the page changed whose edits begin there. */
  endPage(start: number): void {
    this.words[start + 1] = (this.count - start) / 2 - 1;
  }

  /** Takes back all from there on. */
  cut(start: number): void {
    this.count = start;
  }

  toBytes(): Uint8Array {
    return new Uint8Array(this.words.slice(0, this.count).buffer);
  }
}

/** A page with more of its words changed than one in this is stored whole. */
const largestShare = 8;

/** Compared at once, before they are compared one by one. */
const blockWords = 256;

/** Adds what takes one page to another; false when the other must be stored whole. */
export function addEdit(edits: EditWords, before: Page, after: Page): boolean {
  const patch = after.patchOver(before);
  if (patch) return addPatch(edits, before, after, patch);
  if (!isAlike(before, after)) return false;
  const { words } = after;
  const wordsBefore = before.words;
  const bytes = asBuffer(words);
  const bytesBefore = asBuffer(wordsBefore);
  const start = edits.length;
  const longest = start + 2 + Math.floor(words.length / largestShare) * 2;
  edits.push(after.id, 0);
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

/** @throws {RangeError} when the edits are not of these pages */
export function applyEdits(
  pages: ReadonlyMap<number, Pick<Page, "words">>,
  edits: Uint32Array,
  isCurrent: (pageId: number) => boolean,
): void {
  let at = 0;
  while (at < edits.length) {
    const pageId = edits[at] ?? 0;
    const end = at + 2 + (edits[at + 1] ?? 0) * 2;
    const words = pages.get(pageId)?.words;
    if (end > edits.length) throw new RangeError("an edit of the store is not whole");
    if (words && isCurrent(pageId)) {
      for (let edit = at + 2; edit < end; edit += 2) {
        const word = edits[edit] ?? 0;
        if (word >= words.length) throw new RangeError("an edit of the store fits no page");
        words[word] = edits[edit + 1] ?? 0;
      }
    }
    at = end;
  }
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
