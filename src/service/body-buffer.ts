import { Buffer } from "node:buffer";

/** Idle buffers may hold this together, but for the one used last: two bodies of 100,000 servers each. */
const maxIdleBytes = 128 * 1024 * 1024;

/**
 * Where bodies are collected. That of a large target takes some 40 MB: as a new buffer for each poll it would be garbage
 * outside of V8's heap, for which V8 collects all of its heap. So buffers are used again.
 */
export class BodyBuffers {
  private readonly maxBytes: number;
  private readonly idle: BodyBuffer[] = [];
  private idleBytes = 0;

  /** @param maxBytes of one body */
  constructor(maxBytes: number) {
    this.maxBytes = maxBytes;
  }

  /** The caller gives the buffer back when nothing reads from it any more, and copies anything that it keeps longer. */
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
    while (this.idleBytes > maxIdleBytes && this.idle.length > 1) {
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
      this.grow(Math.max(smallest, length, this.buffer.length * 2));
    }
    this.buffer.set(chunk, this.length);
    this.length = length;
    return true;
  }

  /**
   * Allocates at once what a body of this size needs, and a little more, as the next one may be longer. In steps, the
   * buffer would become up to twice as large.
   */
  reserve(bytes: number): void {
    if (bytes > this.buffer.length) this.grow(Math.ceil(bytes * 1.05));
  }

  clear(): void {
    this.length = 0;
  }

  private grow(capacity: number): void {
    const grown = Buffer.allocUnsafeSlow(Math.min(this.maxBytes, capacity));
    this.buffer.copy(grown, 0, 0, this.length);
    this.buffer = grown;
  }
}
