import type { TextMark } from "../listing-intake.ts";
import { withRoom } from "./with-room.ts";

const wordsPerMark = 4;

/** The texts by which a page's sandboxes are known again, in 16 bytes each. */
export class Marks {
  /** Of each the hash in two words, the length (0 where there is none), and the note. */
  private words: Uint32Array<ArrayBuffer>;
  private hashes: BigUint64Array<ArrayBuffer>;

  constructor(sandboxCount: number) {
    this.words = new Uint32Array(sandboxCount * wordsPerMark);
    this.hashes = new BigUint64Array(this.words.buffer);
  }

  /** Null where the sandbox must be read. */
  at(sandbox: number): TextMark | null {
    const length = this.words[sandbox * wordsPerMark + 2] ?? 0;
    if (length === 0) return null;
    const note = this.words[sandbox * wordsPerMark + 3] ?? 0;
    return { length, hash: this.hashes[sandbox * 2] ?? 0n, note };
  }

  isOf(sandbox: number, length: number, hash: bigint): boolean {
    return this.words[sandbox * wordsPerMark + 2] === length && this.hashes[sandbox * 2] === hash;
  }

  /** The first word of the hash; null where there is no mark. */
  keyOf(sandbox: number): number | null {
    if (this.words[sandbox * wordsPerMark + 2] === 0) return null;
    return this.words[sandbox * wordsPerMark] ?? 0;
  }

  set(sandbox: number, mark: TextMark | null): void {
    this.makeRoom(sandbox);
    this.hashes[sandbox * 2] = mark?.hash ?? 0n;
    this.words[sandbox * wordsPerMark + 2] = mark?.length ?? 0;
    this.words[sandbox * wordsPerMark + 3] = mark?.note ?? 0;
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
