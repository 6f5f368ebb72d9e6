import type { Buffer } from "node:buffer";
import type { BodyMark } from "../../core/listing-intake.ts";
import { freeBuffer } from "../../platform/free-buffer.ts";
import type { BodyHash } from "./body-hash.ts";

/** A larger body is read while it comes: it is neither waited for nor known again as a whole. */
const most = { bytes: 128 * 1024, chunks: 16 };

const openingBrace = 0x7b;

/**
 * Tells whether a small body is the known one. Where it can be, its chunks are held back until that is
 * sure: most often there are one or two, and nothing of them has to be read.
 */
export class BodyWatch {
  private readonly known: BodyMark | null;
  /** Null once the body is too long for it. */
  private hash: BodyHash | null;
  private length = 0;
  /** Those that are not taken. */
  private chunks: Buffer[] = [];
  private isHeldBack: boolean;
  /** Null while it is not asked for. */
  private whole: BodyMark | null = null;

  constructor(known: BodyMark | null, hash: BodyHash) {
    this.known = known;
    this.hash = hash;
    this.isHeldBack = known !== null;
  }

  /** @param chunk not empty */
  add(chunk: Buffer): void {
    const { chunks, known } = this;
    // A page in place of a listing is refused at once: it may hang, and then the reason would be another.
    if (this.length === 0 && chunk[0] !== openingBrace) this.isHeldBack = false;
    this.length += chunk.length;
    if (this.length > most.bytes) this.hash = null;
    this.hash?.update(chunk);
    chunks.push(chunk);
    if (chunks.length > most.chunks || this.length > (known?.length ?? 0)) this.isHeldBack = false;
  }

  /** After the end of the body: whether it is the known one, and nothing of it was taken. */
  isKnown(): boolean {
    const { known, isHeldBack } = this;
    if (!known || !isHeldBack || this.length !== known.length) return false;
    return this.mark()?.hash === known.hash;
  }

  /** The chunks to read that were not taken before; null while none is to be read. */
  take(hasEnded: boolean): readonly Buffer[] | null {
    if (this.isHeldBack && !hasEnded) return null;
    this.isHeldBack = false;
    const { chunks } = this;
    if (chunks.length > 0) this.chunks = [];
    return chunks;
  }

  /** Those that are left are not read: all but the last, which the connection may still be at, are freed. */
  drop(): void {
    for (const chunk of this.chunks.slice(0, -1)) freeBuffer(chunk);
    this.chunks = [];
  }

  /** After the end; null for a body that is too long to be known again. */
  mark(): BodyMark | null {
    const { hash, length } = this;
    return (this.whole ??= hash && { length, hash: hash.digest() });
  }
}
