import { Buffer } from "node:buffer";
import { findExcess } from "../json-excess.ts";
import type { JsonValue } from "../json.ts";
import { notJson } from "./body-fault.ts";
import { colon, openBrace, quote, skipSpace } from "../json-bytes.ts";
import { limits } from "./limits.ts";
import { ValueScanner } from "./value-scanner.ts";
import { decodeText, parseText } from "./value-text.ts";

export interface CutValue {
  /** Undefined for a text that is known: it was not parsed. */
  readonly value: JsonValue | undefined;
  readonly end: number;
}

/** What is made of the texts of values that are known to be of one kind. */
export interface ValueTexts {
  /** Whether it was once parsed as a whole value, or one that says the same, and is not wanted again. */
  isKnown(bytes: Buffer, start: number, end: number): boolean;
  /** What is parsed in its place: JSON where that is, and with as many brackets and braces outside of strings. */
  toParse(bytes: Buffer, start: number, end: number): Buffer;
}

const anyTexts: ValueTexts = {
  isKnown: () => false,
  toParse: (bytes, start, end) => bytes.subarray(start, end),
};

const longestMarker = 256;
const maxSkipped = 1024;
const patience = { least: 4 * 1024, most: 1024 * 1024 };
/** A text of that many brackets and braces at most that open is within every limit. */
const harmlessOpeners = Math.min(limits.nesting, limits.objects);

/**
 * Cuts values out of a body and parses them, with as little looking at each byte as can be.
 *
 * A service writes all of a list alike. So the bytes from the end of one object to the first name in
 * the next, such as `},{"local_sandbox_id":`, mostly tell where the objects after it end, and are found
 * without looking at each byte. That is a guess: it counts only when what it cuts out is known, or the
 * parser takes it, since no JSON object is the beginning of another. Else the end is found byte by byte.
 */
export class ItemCutter {
  /** How many bytes of the value begun are wanted before the next look at it. */
  wanted = 0;
  private readonly scanner = new ValueScanner();
  private marker: Buffer | null = null;
  private isMarkerTrusted = false;
  private searched = 0;
  private typicalBytes = 0;
  private skips = 0;
  private toSkip = 0;

  /**
   * Cuts the value that starts at `start`, which is no space. Throws a BodyFault for what is no JSON.
   *
   * @param bytes end where what came so far ends, or the body when `isLast`
   * @param offset of `start` in the body
   * @param texts asked about the value's text, at last, before that is parsed
   * @returns null when it needs more bytes: to be called again with the same value and more of them
   */
  cut(
    bytes: Buffer,
    start: number,
    isLast: boolean,
    offset: number,
    texts: ValueTexts = anyTexts,
  ): CutValue | null {
    if (this.scanner.scanned === 0) {
      const guessed = this.guess(bytes, start, isLast, texts);
      if (guessed === "wait") return null;
      if (guessed) return guessed;
    }
    const end = this.scanner.scan(bytes, start, isLast);
    this.wanted = 0;
    if (end < 0) return null;
    if (end === start) throw notJson(offset);
    if (texts.isKnown(bytes, start, end)) return this.finish(undefined, start, end);
    const value = parseText(decodeText(texts.toParse(bytes, start, end)));
    if (value === undefined) throw notJson(offset);
    return this.finish(value, start, end);
  }

  /**
   * Tells of two items of a list that follow each other in one buffer, where the first one ends and the
   * second starts: the next `cut` may guess by it.
   */
  seen(bytes: Buffer, end: number, nextStart: number): void {
    if (this.isMarkerTrusted) return;
    if (this.toSkip > 0) {
      this.toSkip--;
      return;
    }
    const markerEnd = endOfFirstName(bytes, nextStart);
    if (markerEnd < 0 || markerEnd - end >= longestMarker) return;
    this.marker = Buffer.from(bytes.subarray(end - 1, markerEnd));
    this.isMarkerTrusted = true;
  }

  /** "wait": what is there holds no end by the marker, but may be less than the object. */
  private guess(
    bytes: Buffer,
    start: number,
    isLast: boolean,
    texts: ValueTexts,
  ): CutValue | "wait" | null {
    const { marker } = this;
    if (!marker || !this.isMarkerTrusted || bytes[start] !== openBrace) return null;
    const from = start + Math.max(0, this.searched - marker.length + 1);
    const found = bytes.indexOf(marker, from);
    if (found < 0) {
      const most = Math.min(patience.most, Math.max(patience.least, this.typicalBytes * 2));
      this.searched = bytes.length - start;
      this.wanted = most;
      return isLast ? null : this.searched < most ? "wait" : this.missed();
    }
    const end = found + 1;
    if (end - start > limits.valueBytes) return this.missed();
    if (texts.isKnown(bytes, start, end)) {
      this.skips = 0;
      return this.finish(undefined, start, end);
    }
    const candidate = decodeText(texts.toParse(bytes, start, end));
    if (mayExceed(candidate) && findExcess(bytes.subarray(start, end), limits))
      return this.missed();
    const value = parseText(candidate);
    if (value === undefined) return this.missed();
    this.skips = 0;
    return this.finish(value, start, end);
  }

  private missed(): null {
    this.isMarkerTrusted = false;
    this.skips = Math.min(maxSkipped, this.skips * 2 + 1);
    this.toSkip = this.skips;
    return null;
  }

  private finish(value: JsonValue | undefined, start: number, end: number): CutValue {
    this.typicalBytes = Math.max(end - start, this.typicalBytes - (this.typicalBytes >> 3));
    this.scanner.reset();
    this.searched = this.wanted = 0;
    return { value, end };
  }
}

/** Behind the colon after the first name in an object; -1 where none is found in the bytes at hand. */
function endOfFirstName(bytes: Buffer, start: number): number {
  if (bytes[start] !== openBrace) return -1;
  const name = skipSpace(bytes, start + 1);
  if (bytes[name] !== quote) return -1;
  const nameEnd = bytes.indexOf(quote, name + 1);
  if (nameEnd < 0 || nameEnd - start > longestMarker) return -1;
  const end = skipSpace(bytes, nameEnd + 1);
  return bytes[end] === colon ? end + 1 : -1;
}

/** Far quicker than a look at each byte, and no for nearly every text. */
function mayExceed(text: string): boolean {
  if (text.length <= 2 * harmlessOpeners) return false;
  let openers = 0;
  for (const opener of ["{", "["]) {
    for (let at = text.indexOf(opener); at >= 0; at = text.indexOf(opener, at + 1)) {
      openers++;
      if (openers > harmlessOpeners) return true;
    }
  }
  return false;
}
