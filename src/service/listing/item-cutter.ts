import { Buffer } from "node:buffer";
import { findExcess } from "../json-excess.ts";
import type { JsonValue } from "../json.ts";
import { notJson } from "./body-fault.ts";
import { colon, openBrace, quote, skipSpace } from "../json-bytes.ts";
import { limits } from "./limits.ts";
import { createValueScanner } from "./value-scanner.ts";
import { createValueText, parseText } from "./value-text.ts";

export interface CutValue {
  /** Undefined for a text that is known: it was not parsed. */
  readonly value: JsonValue | undefined;
  readonly end: number;
}

/** Whether a text was once parsed as a whole value, and is not wanted again. */
export type IsKnown = (text: Buffer) => boolean;

/** Cuts values out of a body and parses them, with as little looking at each byte as can be. */
export interface ItemCutter {
  /**
   * Cuts the value that starts at `start`, which is no space. Throws a BodyFault for what is no JSON.
   *
   * @param bytes end where what came so far ends, or the body when `isLast`
   * @param offset of `start` in the body
   * @param isKnown asked of the value's text, at last, before that is parsed
   * @returns null when it needs more bytes: to be called again with the same value and more of them
   */
  cut(
    bytes: Buffer,
    start: number,
    isLast: boolean,
    offset: number,
    isKnown?: IsKnown,
  ): CutValue | null;
  /**
   * Tells of two items of a list that follow each other in one buffer, where the first one ends and the
   * second starts: the next `cut` may guess by it.
   */
  seen(bytes: Buffer, end: number, nextStart: number): void;
  /** How many bytes of the value begun are wanted before the next look at it. */
  readonly wanted: number;
}

const longestMarker = 256;
const maxSkipped = 1024;
const patience = { least: 4 * 1024, most: 1024 * 1024 };
/** A text of that many brackets and braces at most that open is within every limit. */
const harmlessOpeners = Math.min(limits.nesting, limits.objects);

/**
 * A service writes all of a list alike. So the bytes from the end of one object to the first name in
 * the next, such as `},{"local_sandbox_id":`, mostly tell where the objects after it end, and are found
 * without looking at each byte. That is a guess: it counts only when what it cuts out is known, or the
 * parser takes it, since no JSON object is the beginning of another. Else the end is found byte by byte.
 */
export function createItemCutter(): ItemCutter {
  const scanner = createValueScanner();
  const text = createValueText();
  let marker: Buffer | null = null;
  let isMarkerTrusted = false;
  let searched = 0;
  let typicalBytes = 0;
  let skips = 0;
  let toSkip = 0;
  let wanted = 0;

  const finish = (value: JsonValue | undefined, start: number, end: number): CutValue => {
    typicalBytes = Math.max(end - start, typicalBytes - (typicalBytes >> 3));
    scanner.reset();
    searched = wanted = 0;
    return { value, end };
  };

  const missed = (): null => {
    isMarkerTrusted = false;
    skips = Math.min(maxSkipped, skips * 2 + 1);
    toSkip = skips;
    return null;
  };

  /** "wait": what is there holds no end by the marker, but may be less than the object. */
  const guess = (
    bytes: Buffer,
    start: number,
    isLast: boolean,
    isKnown: IsKnown,
  ): CutValue | "wait" | null => {
    if (!marker || !isMarkerTrusted || bytes[start] !== openBrace) return null;
    const from = start + Math.max(0, searched - marker.length + 1);
    const found = bytes.indexOf(marker, from);
    if (found < 0) {
      const most = Math.min(patience.most, Math.max(patience.least, typicalBytes * 2));
      searched = bytes.length - start;
      wanted = most;
      return isLast ? null : searched < most ? "wait" : missed();
    }
    const end = found + 1;
    if (end - start > limits.valueBytes) return missed();
    if (isKnown(bytes.subarray(start, end))) {
      skips = 0;
      return finish(undefined, start, end);
    }
    const candidate = text.decode(bytes, start, end);
    if (mayExceed(candidate) && findExcess(bytes.subarray(start, end), limits)) return missed();
    const value = parseText(candidate);
    if (value === undefined) return missed();
    skips = 0;
    return finish(value, start, end);
  };

  return {
    get wanted() {
      return wanted;
    },
    cut(bytes, start, isLast, offset, isKnown = () => false) {
      if (scanner.scanned === 0) {
        const guessed = guess(bytes, start, isLast, isKnown);
        if (guessed === "wait") return null;
        if (guessed) return guessed;
      }
      const end = scanner.scan(bytes, start, isLast);
      wanted = 0;
      if (end < 0) return null;
      if (end > start && isKnown(bytes.subarray(start, end))) return finish(undefined, start, end);
      const value = end === start ? undefined : parseText(text.decode(bytes, start, end));
      if (value === undefined) throw notJson(offset);
      return finish(value, start, end);
    },
    seen(bytes, end, nextStart) {
      if (isMarkerTrusted) return;
      if (toSkip > 0) {
        toSkip--;
        return;
      }
      const markerEnd = endOfFirstName(bytes, nextStart);
      if (markerEnd < 0 || markerEnd - end >= longestMarker) return;
      marker = Buffer.from(bytes.subarray(end - 1, markerEnd));
      isMarkerTrusted = true;
    },
  };
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
