import { Buffer } from "node:buffer";
import { backslash, colon, quote, skipSpace } from "../json-bytes.ts";

/** Of a server: when it was last updated. It is not kept, and may be another one at each poll. */
const timeName = Buffer.from('"updated_at"');
const lastOfName = timeName.length - 1;
/** By the byte that stands where the name's last one would: how far on the name can end at the earliest. */
const steps = new Uint8Array(256).fill(timeName.length);
for (let at = 0; at < lastOfName; at++) steps[timeName[at] ?? 0] = lastOfName - at;

const blank = 0;
const firstPrintable = 0x20;
const lastPrintable = 0x7e;

/**
 * Makes texts alike that differ in times of updates alone. Two JSON texts of one length that are the
 * same with such times blanked are both JSON, where one is: in each time only the plain characters of
 * a string are blanked, and a blank can stand nowhere else.
 */
export class SteadyText {
  private room = Buffer.alloc(0);

  /** A copy that holds until the next call; null where there is no time, or one of other characters. */
  of(text: Buffer): Buffer | null {
    let nameEnd = endOfName(text, 0);
    if (nameEnd < 0) return null;
    if (this.room.length < text.length) this.room = Buffer.alloc(text.length * 2);
    const steady = this.room.subarray(0, text.length);
    text.copy(steady);
    let hasBlanks = false;
    for (; nameEnd >= 0; nameEnd = endOfName(steady, nameEnd)) {
      const start = startOfString(steady, nameEnd);
      if (start < 0) continue;
      if (!blankString(steady, start)) return null;
      hasBlanks = true;
    }
    return hasBlanks ? steady : null;
  }
}

/**
 * Behind the next name; -1 where there is none. By Horspool's search: that of buffers begins anew at each
 * quote, and JSON is full of them.
 */
function endOfName(bytes: Uint8Array, start: number): number {
  let last = start + lastOfName;
  while (last < bytes.length) {
    let at = lastOfName;
    while (at >= 0 && bytes[last - lastOfName + at] === timeName[at]) at--;
    if (at < 0) return last + 1;
    last += steps[bytes[last] ?? 0] ?? 1;
  }
  return -1;
}

/** Behind the opening quote of the string that a name has as its value; -1 where it has none. */
function startOfString(bytes: Uint8Array, nameEnd: number): number {
  const separator = skipSpace(bytes, nameEnd);
  if (bytes[separator] !== colon) return -1;
  const start = skipSpace(bytes, separator + 1);
  return bytes[start] === quote ? start + 1 : -1;
}

/** False where the string does not end, or holds anything but plain characters. */
function blankString(bytes: Uint8Array, start: number): boolean {
  for (let at = start; at < bytes.length; at++) {
    const byte = bytes[at] ?? blank;
    if (byte === quote) return true;
    if (byte < firstPrintable || byte > lastPrintable || byte === backslash) return false;
    bytes[at] = blank;
  }
  return false;
}
