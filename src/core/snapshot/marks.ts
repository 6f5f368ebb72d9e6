import type { OpenStatuses, TextMark } from "../listing-intake.ts";
import { withRoom } from "./with-room.ts";

const wordsPerMark = 6;
const field = { hash: 0, steadyHash: 2, length: 4, note: 5 } as const;

const openStatuses: readonly OpenStatuses[] = ["none", "own_first", "own_last"];
const openShift = 16;
const mostNote = 0xffff;

const lastTurn = 255;

/** Through which a hash is taken out of its two words, and apart into them. */
const hash = new BigUint64Array(1);
const hashWords = new Uint32Array(hash.buffer);

/** The texts by which a page's sandboxes are known again, in 24 bytes each. */
export class Marks {
  /**
   * Of each both hashes in two words each, the length (0 where there is none), and in one word the note
   * and, above it, which statuses are open.
   */
  private words: Uint32Array<ArrayBuffer>;

  constructor(sandboxCount: number) {
    this.words = new Uint32Array(sandboxCount * wordsPerMark);
  }

  /** Null where the sandbox must be read. */
  at(sandbox: number): TextMark | null {
    const at = sandbox * wordsPerMark;
    const length = this.words[at + field.length] ?? 0;
    if (length === 0) return null;
    const note = this.words[at + field.note] ?? 0;
    return {
      length,
      hash: this.hashAt(at + field.hash),
      steadyHash: this.hashAt(at + field.steadyHash),
      openStatuses: openStatuses[note >>> openShift] ?? "none",
      note: note & mostNote,
    };
  }

  /**
   * Whether it is a text's turn, out of 256, to be read though it is known. By its hashes: so each turn
   * has as many, wherever they are.
   */
  isTurnOf(sandbox: number, turn: number): boolean {
    const at = sandbox * wordsPerMark;
    const steady = this.words[at + field.steadyHash] ?? 0;
    const key = steady === 0 ? (this.words[at + field.hash] ?? 0) : steady;
    return ((key ^ turn) & lastTurn) === 0;
  }

  isOf(sandbox: number, length: number, textHash: bigint): boolean {
    const at = sandbox * wordsPerMark;
    return this.words[at + field.length] === length && this.hashAt(at + field.hash) === textHash;
  }

  /** The first word of the hash; null where there is no mark. */
  keyOf(sandbox: number): number | null {
    if (this.words[sandbox * wordsPerMark + field.length] === 0) return null;
    return this.words[sandbox * wordsPerMark] ?? 0;
  }

  set(sandbox: number, mark: TextMark | null): void {
    this.makeRoom(sandbox);
    const at = sandbox * wordsPerMark;
    this.writeHash(at + field.hash, mark?.hash ?? 0n);
    this.writeHash(at + field.steadyHash, mark?.steadyHash ?? 0n);
    this.words[at + field.length] = mark?.length ?? 0;
    const open = openStatuses.indexOf(mark?.openStatuses ?? "none");
    this.words[at + field.note] = (mark?.note ?? 0) | (open << openShift);
  }

  setAs(sandbox: number, other: Marks, otherSandbox: number): void {
    this.makeRoom(sandbox);
    for (let word = 0; word < wordsPerMark; word++) {
      const value = other.words[otherSandbox * wordsPerMark + word] ?? 0;
      this.words[sandbox * wordsPerMark + word] = value;
    }
  }

  /** A copy of the first ones. */
  first(sandboxCount: number): Marks {
    const marks = new Marks(sandboxCount);
    marks.words.set(this.words.subarray(0, sandboxCount * wordsPerMark));
    return marks;
  }

  private hashAt(word: number): bigint {
    hashWords[0] = this.words[word] ?? 0;
    hashWords[1] = this.words[word + 1] ?? 0;
    return hash[0] ?? 0n;
  }

  private writeHash(word: number, value: bigint): void {
    hash[0] = value;
    this.words[word] = hashWords[0] ?? 0;
    this.words[word + 1] = hashWords[1] ?? 0;
  }

  private makeRoom(sandbox: number): void {
    this.words = withRoom(this.words, (sandbox + 1) * wordsPerMark);
  }
}
