import { Buffer } from "node:buffer";

/**
 * Hands out chunks as they came, one after the other, and joins of them only what a reader could not
 * use alone: the end of one with the beginning of the next.
 */
export interface ChunkWindow {
  /** The chunk is given away: where nothing else is in its buffer, that is freed after use. */
  push(chunk: Buffer): void;
  /**
   * The bytes to read next: the unused ones, followed by some of those pushed since; null when there
   * are none of those.
   *
   * @param wanted how many bytes in all are worth handing out; 0 for any number more than before
   */
  next(wanted: number): Buffer | null;
  /** The unused bytes alone. */
  rest(): Buffer;
  /** So many of the bytes handed out last are used. `isStuck`: the others are too few to go on with. */
  used(count: number, isStuck: boolean): void;
  /** Nothing was pushed that has not been handed out. */
  readonly isDrained: boolean;
}

const smallestJoin = 4 * 1024;
const keptRoom = 1024 * 1024;
const nothing = Buffer.alloc(0);

export function createChunkWindow(): ChunkWindow {
  let queue: Buffer[] = [];
  let taken = 0;
  /** The chunk at hand, used up to `chunkStart`. */
  let chunk: Buffer = nothing;
  let chunkStart = 0;
  /** Holds unused bytes of earlier chunks, and behind them `copied` bytes of the chunk at hand. */
  let carry: Buffer = nothing;
  let carryStart = 0;
  let carryEnd = 0;
  let copied = 0;

  const takeChunk = (): void => {
    const next = queue[taken];
    if (chunkStart < chunk.length || !next) return;
    free(chunk);
    chunk = next;
    chunkStart = copied = 0;
    taken++;
    if (taken < queue.length && taken < 1024) return;
    queue = queue.slice(taken);
    taken = 0;
  };

  const append = (bytes: Buffer): void => {
    const length = carryEnd - carryStart;
    const needed = length + bytes.length;
    if (carryStart + needed > carry.length) {
      const room = needed * 2 > carry.length ? Buffer.allocUnsafeSlow(needed * 2) : carry;
      carry.copy(room, 0, carryStart, carryEnd);
      carry = room;
      carryStart = 0;
    }
    bytes.copy(carry, carryStart + length);
    carryEnd = carryStart + needed;
  };

  const empty = (): void => {
    carryStart = carryEnd = copied = 0;
    if (carry.length > keptRoom) carry = nothing;
  };

  return {
    push(pushed) {
      if (pushed.length > 0) queue.push(pushed);
    },
    next(wanted) {
      takeChunk();
      if (chunkStart === chunk.length) return null;
      const length = carryEnd - carryStart;
      if (length === 0) return chunkStart === 0 ? chunk : chunk.subarray(chunkStart);
      const count = wanted > length ? wanted - length : smallestJoin;
      const joined = chunk.subarray(chunkStart, chunkStart + count);
      append(joined);
      chunkStart += joined.length;
      copied += joined.length;
      return carry.subarray(carryStart, carryEnd);
    },
    rest: () => carry.subarray(carryStart, carryEnd),
    used(count, isStuck) {
      if (carryEnd > carryStart) {
        carryStart += count;
        const left = carryEnd - carryStart;
        if (left > copied) return;
        // All that is left is in the chunk as well, and is read there.
        chunkStart -= left;
        empty();
        return;
      }
      chunkStart += count;
      if (!isStuck || chunkStart === chunk.length) return;
      append(chunk.subarray(chunkStart));
      chunkStart = chunk.length;
      copied = 0;
    },
    get isDrained() {
      return chunkStart === chunk.length && taken === queue.length;
    },
  };
}

/**
 * Collected as garbage, thousands of buffers could wait for that at once. Where something else may be
 * in the buffer, such as what an HTTP parser still needs of an answer's head, it is left alone.
 */
function free({ buffer, length }: Buffer): void {
  if (buffer instanceof ArrayBuffer && length > 0 && buffer.byteLength === length) {
    buffer.transfer(0);
  }
}
