import { Buffer } from "node:buffer";
import { freeBuffer } from "../../platform/free-buffer.ts";

const smallestJoin = 4 * 1024;
const keptRoom = 1024 * 1024;
const nothing = Buffer.alloc(0);

/**
 * Hands out chunks as they came, one after the other, and joins of them only what a reader could not
 * use alone: the end of one with the beginning of the next.
 */
export class ChunkWindow {
  private queue: Buffer[] = [];
  private taken = 0;
  /** The chunk at hand, used up to `chunkStart`. */
  private chunk: Buffer = nothing;
  private chunkStart = 0;
  /** Holds unused bytes of earlier chunks, and behind them `copied` bytes of the chunk at hand. */
  private carry: Buffer = nothing;
  private carryStart = 0;
  private carryEnd = 0;
  private copied = 0;

  /** The chunk is given away: where nothing else is in its buffer, that is freed after use. */
  push(pushed: Buffer): void {
    if (pushed.length > 0) this.queue.push(pushed);
  }

  /**
   * The bytes to read next: the unused ones, followed by some of those pushed since; null when there
   * are none of those.
   *
   * @param wanted how many bytes in all are worth handing out; 0 for any number more than before
   */
  next(wanted: number): Buffer | null {
    this.takeChunk();
    const { chunk, chunkStart } = this;
    if (chunkStart === chunk.length) return null;
    const length = this.carryEnd - this.carryStart;
    if (length === 0) return chunkStart === 0 ? chunk : chunk.subarray(chunkStart);
    const count = wanted > length ? wanted - length : smallestJoin;
    const joined = chunk.subarray(chunkStart, chunkStart + count);
    this.append(joined);
    this.chunkStart += joined.length;
    this.copied += joined.length;
    return this.rest();
  }

  /** The unused bytes alone. */
  rest(): Buffer {
    return this.carry.subarray(this.carryStart, this.carryEnd);
  }

  /** So many of the bytes handed out last are used. `isStuck`: the others are too few to go on with. */
  used(count: number, isStuck: boolean): void {
    if (this.carryEnd > this.carryStart) {
      this.carryStart += count;
      const left = this.carryEnd - this.carryStart;
      if (left > this.copied) return;
      // All that is left is in the chunk as well, and is read there.
      this.chunkStart -= left;
      this.empty();
      return;
    }
    this.chunkStart += count;
    if (!isStuck || this.chunkStart === this.chunk.length) return;
    this.append(this.chunk.subarray(this.chunkStart));
    this.chunkStart = this.chunk.length;
    this.copied = 0;
  }

  /** Nothing was pushed that has not been handed out. */
  get isDrained(): boolean {
    return this.chunkStart === this.chunk.length && this.taken === this.queue.length;
  }

  private takeChunk(): void {
    const next = this.queue[this.taken];
    if (this.chunkStart < this.chunk.length || !next) return;
    // In its buffer may also be what an HTTP parser still needs of an answer's head: then it stays.
    freeBuffer(this.chunk);
    this.chunk = next;
    this.chunkStart = this.copied = 0;
    this.taken++;
    if (this.taken < this.queue.length && this.taken < 1024) return;
    this.queue = this.queue.slice(this.taken);
    this.taken = 0;
  }

  private append(bytes: Buffer): void {
    const length = this.carryEnd - this.carryStart;
    const needed = length + bytes.length;
    const { carry } = this;
    if (this.carryStart + needed > carry.length) {
      const room = needed * 2 > carry.length ? Buffer.allocUnsafeSlow(needed * 2) : carry;
      carry.copy(room, 0, this.carryStart, this.carryEnd);
      this.carry = room;
      this.carryStart = 0;
    }
    bytes.copy(this.carry, this.carryStart + length);
    this.carryEnd = this.carryStart + needed;
  }

  private empty(): void {
    this.carryStart = this.carryEnd = this.copied = 0;
    if (this.carry.length > keptRoom) this.carry = nothing;
  }
}
