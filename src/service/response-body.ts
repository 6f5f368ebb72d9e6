import { Buffer } from "node:buffer";
import type { Transform } from "node:stream";
import { createBrotliDecompress, createGunzip, createInflate, createInflateRaw } from "node:zlib";

const encodings = ["gzip", "br", "deflate"] as const;
type Encoding = (typeof encodings)[number];

/** For the request header `accept-encoding`. */
export const acceptedEncodings = encodings.join(", ");

/** Each coding costs a decoder. */
const mostEncodings = 4;

/**
 * @param header `content-encoding`; one that comes more than once is one list (RFC 9110, section 5.3)
 * @returns the codings in the order in which they were applied, or why the body cannot be decoded
 */
export function readEncoding(header: string | readonly string[]): readonly Encoding[] | string {
  const names = String(header)
    .split(",")
    .map((name) => name.trim().toLowerCase())
    .filter((name) => name !== "" && name !== "identity")
    .map((name) => (name === "x-gzip" ? "gzip" : name));
  const unknown = names.find((name) => !isEncoding(name));
  if (unknown !== undefined) {
    // The header comes from outside, so it is repeated only if it looks like a name.
    const shown = /^[a-z][a-z0-9-]{0,15}$/.test(unknown) ? ` (${unknown})` : "";
    return `the body has a content-encoding that was not requested${shown}`;
  }
  if (names.length > mostEncodings) return `the body is encoded more than ${mostEncodings} times`;
  return names.filter(isEncoding);
}

function isEncoding(name: string): name is Encoding {
  return encodings.some((each) => each === name);
}

export interface BodyDecoderDeps {
  /** In the order in which they were applied. */
  readonly encodings: readonly Encoding[];
  /** The limit for the output of each decoder, as an inner one could produce far more than the last. */
  readonly maxBytes: number;
  /** The source of the body; it is paused while the decoders are slow. */
  readonly source: { pause(): void; resume(): void };
  readonly onData: (chunk: Buffer) => void;
  readonly onEnd: () => void;
  readonly onTooLarge: () => void;
  /** The body is not in the encoding that it claims to be in, or breaks off. */
  readonly onBroken: () => void;
}

/** Decodes a body while it comes. */
export class BodyDecoder {
  private readonly deps: BodyDecoderDeps;
  private stages: readonly Transform[] = [];
  private hasEnded = false;

  constructor(deps: BodyDecoderDeps) {
    this.deps = deps;
  }

  push(chunk: Buffer): void {
    if (chunk.length === 0) return;
    if (this.stages.length === 0) this.open(chunk);
    const [first] = this.stages;
    if (!first || first.write(chunk)) return;
    const { source } = this.deps;
    source.pause();
    // After its end the connection is used by others.
    first.once("drain", () => this.hasEnded || source.resume());
  }

  /** Call it at the end of the encoded bytes. A body without bytes is empty in every encoding. */
  end(): void {
    this.hasEnded = true;
    const [first] = this.stages;
    if (first) first.end();
    else this.deps.onEnd();
  }

  destroy(): void {
    for (const stage of this.stages) stage.destroy();
  }

  private open(firstChunk: Buffer): void {
    const { maxBytes, onData, onEnd, onTooLarge, onBroken } = this.deps;
    this.stages = this.deps.encodings
      .toReversed()
      .map((encoding, index) => createDecoder(encoding, index === 0 ? firstChunk : null));
    for (const stage of this.stages) {
      let bytes = 0;
      stage.on("error", onBroken);
      stage.on("data", (chunk: Buffer) => {
        bytes += chunk.length;
        if (bytes > maxBytes) onTooLarge();
      });
    }
    const last = this.stages.reduce((from, to) => from.pipe(to));
    last.on("data", onData).on("end", onEnd);
  }
}

/** @param firstChunk of the body, if it is known */
function createDecoder(encoding: Encoding, firstChunk: Buffer | null): Transform {
  const options = { chunkSize: 64 * 1024 };
  if (encoding === "gzip") return createGunzip(options);
  if (encoding === "br") return createBrotliDecompress(options);
  // `deflate` should have zlib's header, which some servers omit. The first byte shows which it is (RFC 1950).
  const isZlib = firstChunk === null || ((firstChunk[0] ?? 0) & 0x0f) === 0x08;
  return isZlib ? createInflate(options) : createInflateRaw(options);
}

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
