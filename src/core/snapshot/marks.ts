import type { TextMark } from "../listing-intake.ts";
import { withRoom } from "./with-room.ts";

const hashesPerMark = 3;
const wordsPerMark = 2 * hashesPerMark;
const field = { length: 4, note: 5 } as const;

/** The texts by which a page's sandboxes are known again, in 24 bytes each. */
export class Marks {
  /** Of each both hashes in two words each, the length (0 where there is none), and the note. */
  private words: Uint32Array<ArrayBuffer>;
  private hashes: BigUint64Array<ArrayBuffer>;

  constructor(sandboxCount: number) {
    this.words = new Uint32Array(sandboxCount * wordsPerMark);
    this.hashes = new BigUint64Array(this.words.buffer);
  }

  /** Null where the sandbox must be read. */
  at(sandbox: number): TextMark | null {
    const at = sandbox * wordsPerMark;
    const length = this.words[at + field.length] ?? 0;
    if (length === 0) return null;
    return {
      length,
      hash: this.hashes[sandbox * hashesPerMark] ?? 0n,
      steadyHash: this.hashes[sandbox * hashesPerMark + 1] ?? 0n,
      note: this.words[at + field.note] ?? 0,
    };
  }

  isOf(sandbox: number, length: number, hash: bigint): boolean {
    return (
      this.words[sandbox * wordsPerMark + field.length] === length &&
      this.hashes[sandbox * hashesPerMark] === hash
    );
  }

  /** The first word of the hash; null where there is no mark. */
  keyOf(sandbox: number): number | null {
    if (this.words[sandbox * wordsPerMark + field.length] === 0) return null;
    return this.words[sandbox * wordsPerMark] ?? 0;
  }

  set(sandbox: number, mark: TextMark | null): void {
    this.makeRoom(sandbox);
    const at = sandbox * wordsPerMark;
    this.hashes[sandbox * hashesPerMark] = mark?.hash ?? 0n;
    this.hashes[sandbox * hashesPerMark + 1] = mark?.steadyHash ?? 0n;
    this.words[at + field.length] = mark?.length ?? 0;
    this.words[at + field.note] = mark?.note ?? 0;
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

  private makeRoom(sandbox: number): void {
    const words = withRoom(this.words, (sandbox + 1) * wordsPerMark);
    if (words === this.words) return;
    this.words = words;
    this.hashes = new BigUint64Array(words.buffer);
  }
}
