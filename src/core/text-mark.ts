/**
 * Which statuses of its text a steady hash leaves open: none of them, or all that are not `unknown`. These
 * stand in the order of the servers, and the sandbox's own one before or after them.
 */
export type OpenStatuses = "none" | "own_first" | "own_last";

/** By what the text of a sandbox is known again without reading it. */
export interface TextMark {
  /** In bytes. */
  readonly length: number;
  /** 64 bits over all of the text; 0 where that is not known, and only its steady form is. */
  readonly hash: bigint;
  /** The same over its steady form, which lacks what often changes; 0 where that is not known. */
  readonly steadyHash: bigint;
  /** Of the steady form, in bytes: it is no longer than the text. */
  readonly steadyLength: number;
  readonly openStatuses: OpenStatuses;
  /** What the reader wants to remember of it: a number below 65,536. */
  readonly note: number;
}

/** The words of one mark. */
export type MarkWords = Uint32Array;

/** How many a mark has. */
export const markWords = 6;

/**
 * Where what is in them: hashes with their lower half first; as length 0 where there is no mark. The last
 * word has the note in its bits 0-15, which statuses are open in 16-17, in the order of `OpenStatuses`, and
 * above them by how many bytes the steady form is shorter than the text. A reader may count on it.
 */
export const markField = { hash: 0, steadyHash: 2, length: 4, note: 5 } as const;

const openStatuses: readonly OpenStatuses[] = ["none", "own_first", "own_last"];
const openShift = 16;
const openMask = 0b11;
const shorterShift = 18;
const mostShorter = 0x3fff;
const mostNote = 0xffff;

/** Through which a hash is taken out of its two words, and apart into them. */
const hash = new BigUint64Array(1);
const hashWords = new Uint32Array(hash.buffer);

/** The steady form of a text is not known again that is too much shorter. */
export function writeMark(words: Uint32Array, at: number, mark: TextMark | null): void {
  const shorter = mark ? mark.length - mark.steadyLength : 0;
  const isSteady = mark !== null && mark.steadyHash !== 0n && shorter <= mostShorter;
  writeHash(words, at + markField.hash, mark?.hash ?? 0n);
  writeHash(words, at + markField.steadyHash, isSteady ? mark.steadyHash : 0n);
  words[at + markField.length] = mark?.length ?? 0;
  const open = openStatuses.indexOf(mark?.openStatuses ?? "none");
  words[at + markField.note] =
    (mark?.note ?? 0) | (open << openShift) | (isSteady ? shorter << shorterShift : 0);
}

/** Null where there is none. */
export function readMark(words: Uint32Array, at: number): TextMark | null {
  const length = words[at + markField.length] ?? 0;
  if (length === 0) return null;
  const noteWord = words[at + markField.note] ?? 0;
  const steadyHash = hashIn(words, at + markField.steadyHash);
  return {
    length,
    hash: hashIn(words, at + markField.hash),
    steadyHash,
    steadyLength: steadyHash === 0n ? 0 : length - (noteWord >>> shorterShift),
    openStatuses: openIn(noteWord),
    note: noteIn(noteWord),
  };
}

/** @param word the last one of a mark */
export function noteIn(word: number): number {
  return word & mostNote;
}

/** @param word the last one of a mark */
export function openIn(word: number): OpenStatuses {
  return openStatuses[(word >>> openShift) & openMask] ?? "none";
}

function hashIn(words: Uint32Array, at: number): bigint {
  return hashOf(words[at] ?? 0, words[at + 1] ?? 0);
}

/** A hash of its two words. */
export function hashOf(low: number, high: number): bigint {
  hashWords[0] = low;
  hashWords[1] = high;
  return hash[0] ?? 0n;
}

function writeHash(words: Uint32Array, at: number, value: bigint): void {
  hash[0] = value;
  words[at] = hashWords[0] ?? 0;
  words[at + 1] = hashWords[1] ?? 0;
}
