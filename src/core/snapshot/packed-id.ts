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

const byteTexts = Array.from({ length: 256 }, (_, byte) => byte.toString(16).padStart(2, "0"));

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

export function unpackUuid(words: Uint32Array, at: number): string {
  const first = wordText(words[at]);
  const second = wordText(words[at + 1]);
  const third = wordText(words[at + 2]);
  const fourth = wordText(words[at + 3]);
  return `${first}-${second.slice(0, 4)}-${second.slice(4)}-${third.slice(0, 4)}-${third.slice(4)}${fourth}`;
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

function wordText(word = 0): string {
  return (
    (byteTexts[word >>> 24] ?? "") +
    (byteTexts[(word >>> 16) & 0xff] ?? "") +
    (byteTexts[(word >>> 8) & 0xff] ?? "") +
    (byteTexts[word & 0xff] ?? "")
  );
}

/** Spreads ids that may have been made one after the other. */
export function hashUuid(words: Uint32Array, at: number): number {
  let hash = words[at] ?? 0;
  hash = Math.imul(hash ^ (words[at + 1] ?? 0), 0x85eb_ca6b);
  hash = Math.imul(hash ^ (hash >>> 15) ^ (words[at + 2] ?? 0), 0xc2b2_ae35);
  hash = Math.imul(hash ^ (hash >>> 13) ^ (words[at + 3] ?? 0), 0x27d4_eb2f);
  return (hash ^ (hash >>> 16)) >>> 0;
}
