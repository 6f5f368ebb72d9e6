import { Buffer } from "node:buffer";

/** Two bodies of 100,000 servers each. */
const defaultKeptBytes = 128 * 1024 * 1024;

/**
 * Where a body is collected. A body of a large target takes some 40 MB: as a new buffer for each poll it would be
 * garbage outside of V8's heap, for which V8 collects all of its heap. So buffers are used again.
 *
 * Whoever takes one gives it back once nothing reads from it any more; what is read out of it must be a copy. One that
 * is never given back is garbage, no more.
 */
export class BodyBuffers {
  private readonly maxBytes: number;
  private readonly keptBytes: number;
  private readonly idle: BodyBuffer[] = [];
  private idleBytes = 0;

  /**
   * @param maxBytes of one body
   * @param keptBytes what idle buffers may hold together, but for the one used last
   */
  constructor(maxBytes: number, keptBytes = defaultKeptBytes) {
    this.maxBytes = maxBytes;
    this.keptBytes = keptBytes;
  }

  take(): BodyBuffer {
    const buffer = this.idle.pop();
    if (!buffer) return new BodyBuffer(this.maxBytes);
    this.idleBytes -= buffer.capacity;
    return buffer;
  }

  giveBack(buffer: BodyBuffer): void {
    buffer.clear();
    this.idle.push(buffer);
    this.idleBytes += buffer.capacity;
    while (this.idleBytes > this.keptBytes && this.idle.length > 1) {
      this.idleBytes -= this.idle.shift()?.capacity ?? 0;
    }
  }
}

const smallest = 64 * 1024;

export class BodyBuffer {
  private readonly maxBytes: number;
  private buffer = Buffer.alloc(0);
  private length = 0;

  constructor(maxBytes: number) {
    this.maxBytes = maxBytes;
  }

  get capacity(): number {
    return this.buffer.length;
  }

  /** What was collected. Good until the buffer is appended to, cleared or given back. */
  get bytes(): Buffer {
    return this.buffer.subarray(0, this.length);
  }

  /** Copies a chunk behind what there is. False where the body is too long. */
  append(chunk: Uint8Array): boolean {
    const length = this.length + chunk.length;
    if (length > this.maxBytes) return false;
    if (length > this.buffer.length) {
      this.grow(Math.min(this.maxBytes, Math.max(smallest, length, this.buffer.length * 2)));
    }
    this.buffer.set(chunk, this.length);
    this.length = length;
    return true;
  }

  clear(): void {
    this.length = 0;
  }

  private grow(capacity: number): void {
    const grown = Buffer.allocUnsafeSlow(capacity);
    this.buffer.copy(grown, 0, 0, this.length);
    this.buffer = grown;
  }
}
