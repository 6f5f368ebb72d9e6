import type { Buffer } from "node:buffer";
import type { Transform } from "node:stream";
import { createBrotliDecompress, createGunzip, createInflate, createInflateRaw } from "node:zlib";

/** What a body comes from, which can be held back. */
export interface BodyFlow {
  pause(): void;
  resume(): void;
}

const encodings = ["gzip", "br", "deflate"] as const;
/** A content coding that is asked for and decoded. */
export type Encoding = (typeof encodings)[number];

/** For the request header `accept-encoding`. */
export const acceptedEncodings = encodings.join(", ");

/** How a body is encoded, in the order in which the codings were applied; empty: not at all. */
export type ReadEncoding =
  | { readonly kind: "known"; readonly encodings: readonly Encoding[] }
  | { readonly kind: "unknown"; readonly detail: string };

/** One that is encoded more often is no listing: each coding costs a decoder. */
const mostEncodings = 4;

/** @param header `content-encoding`; one that comes more than once is one list (RFC 9110, section 5.3) */
export function readEncoding(header: string | readonly string[] | undefined): ReadEncoding {
  const found: Encoding[] = [];
  for (const part of header === undefined ? [] : String(header).split(",")) {
    const name = part.trim().toLowerCase();
    if (name === "" || name === "identity") continue;
    const encoding = name === "x-gzip" ? "gzip" : encodings.find((each) => each === name);
    if (!encoding) return { kind: "unknown", detail: unknownEncoding(name) };
    found.push(encoding);
  }
  if (found.length <= mostEncodings) return { kind: "known", encodings: found };
  return { kind: "unknown", detail: `the body is encoded more than ${mostEncodings} times` };
}

/** The name comes from outside: what does not look like one is not repeated. */
function unknownEncoding(name: string): string {
  const shown = /^[a-z][a-z0-9-]{0,15}$/.test(name) ? ` (${name})` : "";
  return `the body has a content-encoding that was not asked for${shown}`;
}

export interface DecodedBodyEnds {
  readonly data: (chunk: Buffer) => void;
  readonly end: () => void;
  /** More bytes than are allowed came out of one of the decoders, which is ended. */
  readonly tooLarge: () => void;
  /** What came is not in the encoding that it claims to be in, or breaks off. */
  readonly broken: () => void;
}

/**
 * Decodes a body while it comes. Of what it would come to it holds no more than the decoders' buffers,
 * and it holds its source back where its reader is slow.
 */
export class DecodedBody {
  /** In the order in which they are undone. */
  private readonly encodings: readonly Encoding[];
  private readonly maxBytes: number;
  private readonly source: BodyFlow;
  private readonly ends: DecodedBodyEnds;
  /** Each is made when its first byte comes: `deflate` is told apart by that. */
  private readonly stages: Transform[] = [];
  private hasEnded = false;

  /** @param maxBytes that each decoder may give: one in the middle could give far more than the last */
  constructor(
    applied: readonly Encoding[],
    maxBytes: number,
    source: BodyFlow,
    ends: DecodedBodyEnds,
  ) {
    this.encodings = applied.toReversed();
    this.maxBytes = maxBytes;
    this.ends = ends;
    this.source = {
      pause: () => source.pause(),
      // After its end the connection is used by others.
      resume: () => {
        if (!this.hasEnded) source.resume();
      },
    };
  }

  /** Takes encoded bytes. */
  push(chunk: Buffer): void {
    if (chunk.length > 0) this.write(0, chunk, this.source);
  }

  /** No more encoded bytes come. A body without any is an empty one, however it says to be encoded. */
  end(): void {
    this.hasEnded = true;
    const [first] = this.stages;
    if (first) first.end();
    else this.ends.end();
  }

  /** Gives up: nothing more comes of it. */
  destroy(): void {
    for (const stage of this.stages) stage.destroy();
  }

  private write(index: number, chunk: Buffer, from: BodyFlow): void {
    const stage = (this.stages[index] ??= this.open(index, chunk));
    if (stage.write(chunk)) return;
    from.pause();
    stage.once("drain", () => from.resume());
  }

  private open(index: number, firstChunk: Buffer): Transform {
    const stage = createDecoder(this.encodings[index] ?? "gzip", firstChunk);
    const isLast = index === this.encodings.length - 1;
    let bytes = 0;
    stage.on("data", (chunk: Buffer) => {
      bytes += chunk.length;
      if (bytes > this.maxBytes) {
        this.destroy();
        this.ends.tooLarge();
      } else if (isLast) this.ends.data(chunk);
      else this.write(index + 1, chunk, stage);
    });
    stage.on("end", () => {
      const next = this.stages[index + 1];
      if (next) next.end();
      else this.ends.end();
    });
    stage.on("error", () => {
      this.destroy();
      this.ends.broken();
    });
    return stage;
  }
}

const options = { chunkSize: 64 * 1024 };

function createDecoder(encoding: Encoding, firstChunk: Buffer): Transform {
  switch (encoding) {
    case "gzip":
      return createGunzip(options);
    case "br":
      return createBrotliDecompress(options);
    case "deflate":
      // It should be in zlib's format, and some servers leave that out. Its first byte tells (RFC 1950).
      return ((firstChunk[0] ?? 0) & 0x0f) === 0x08
        ? createInflate(options)
        : createInflateRaw(options);
  }
}
