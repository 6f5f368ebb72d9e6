/**
 * Ids are texts. Nearly all are UUIDs in their usual form, which take 16 bytes as four words; any
 * other id is kept as the text that it is.
 */
export const wordsPerId = 4;

const dash = 0x2d;
const nilUuid = "00000000-0000-0000-0000-000000000000";

/** Of a character code: its value as a lower-case hexadecimal digit, or -1. */
const digitValues = new Int8Array(128).fill(-1);
for (let value = 0; value < 16; value++) digitValues[value.toString(16).charCodeAt(0)] = value;

const digitCodes = Uint8Array.from("0123456789abcdef", (digit) => digit.charCodeAt(0));

/** Writes a UUID into four words from `at` on. False, when the text is no UUID in lower case. */
export function packUuid(text: string, words: Uint32Array, at: number): boolean {
  if (
    text.length !== 36 ||
    text.charCodeAt(8) !== dash ||
    text.charCodeAt(13) !== dash ||
    text.charCodeAt(18) !== dash ||
    text.charCodeAt(23) !== dash
  ) {
    return false;
  }
  invalid = 0;
  const first = (fourDigits(text, 0) << 16) | fourDigits(text, 4);
  const second = (fourDigits(text, 9) << 16) | fourDigits(text, 14);
  const third = (fourDigits(text, 19) << 16) | fourDigits(text, 24);
  const fourth = (fourDigits(text, 28) << 16) | fourDigits(text, 32);
  if (invalid < 0) return false;
  words[at] = first;
  words[at + 1] = second;
  words[at + 2] = third;
  words[at + 3] = fourth;
  return true;
}

/** In one piece: a text that is put together out of parts costs more than twice as much. */
export function unpackUuid(words: Uint32Array, at: number): string {
  const a = words[at] ?? 0;
  const b = words[at + 1] ?? 0;
  const c = words[at + 2] ?? 0;
  const d = words[at + 3] ?? 0;
  // prettier-ignore
  return String.fromCharCode(
    code(a, 28), code(a, 24), code(a, 20), code(a, 16), code(a, 12), code(a, 8), code(a, 4), code(a, 0), dash,
    code(b, 28), code(b, 24), code(b, 20), code(b, 16), dash,
    code(b, 12), code(b, 8), code(b, 4), code(b, 0), dash,
    code(c, 28), code(c, 24), code(c, 20), code(c, 16), dash,
    code(c, 12), code(c, 8), code(c, 4), code(c, 0),
    code(d, 28), code(d, 24), code(d, 20), code(d, 16), code(d, 12), code(d, 8), code(d, 4), code(d, 0),
  );
}

/** Copies one that is packed. */
export function copyId(from: Uint32Array, at: number, to: Uint32Array, toAt: number): void {
  to[toAt] = from[at] ?? 0;
  to[toAt + 1] = from[at + 1] ?? 0;
  to[toAt + 2] = from[at + 2] ?? 0;
  to[toAt + 3] = from[at + 3] ?? 0;
}

/**
 * Bytes that are side by side in the words of every UUID that begins like this, as far as whole ones
 * are: for finding where one may be.
 *
 * @returns null when it is the beginning of no UUID, or too short to tell
 */
export function beginningOfUuid(text: string): Uint8Array | null {
  const words = new Uint32Array(wordsPerId);
  if (!packUuid(text + nilUuid.slice(text.length), words, 0)) return null;
  const digits = text.replaceAll("-", "").length;
  const bytes = new Uint8Array(words.buffer);
  // The first byte of a word is its last one in memory.
  if (digits < 8) return digits < 2 ? null : bytes.subarray(4 - Math.floor(digits / 2), 4);
  return bytes.subarray(0, Math.floor(digits / 8) * 4);
}

/** Negative once a digit was none. */
let invalid = 0;

function fourDigits(text: string, at: number): number {
  const first = digitValues[text.charCodeAt(at)] ?? -1;
  const second = digitValues[text.charCodeAt(at + 1)] ?? -1;
  const third = digitValues[text.charCodeAt(at + 2)] ?? -1;
  const fourth = digitValues[text.charCodeAt(at + 3)] ?? -1;
  invalid |= first | second | third | fourth;
  return (first << 12) | (second << 8) | (third << 4) | fourth;
}

/** The character code of one of a word's digits. */
function code(word: number, shift: number): number {
  return digitCodes[(word >>> shift) & 0xf] ?? 0;
}

/** Spreads ids that may have been made one after the other. */
export function hashUuid(words: Uint32Array, at: number): number {
  let hash = words[at] ?? 0;
  hash = Math.imul(hash ^ (words[at + 1] ?? 0), 0x85eb_ca6b);
  hash = Math.imul(hash ^ (hash >>> 15) ^ (words[at + 2] ?? 0), 0xc2b2_ae35);
  hash = Math.imul(hash ^ (hash >>> 13) ^ (words[at + 3] ?? 0), 0x27d4_eb2f);
  return (hash ^ (hash >>> 16)) >>> 0;
}
