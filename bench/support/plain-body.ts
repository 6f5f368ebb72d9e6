import { Buffer } from "node:buffer";
import { once } from "node:events";
import { connect } from "node:net";

const bufferBytes = 1024 * 1024;
const lineEnd = Buffer.from("\r\n");
const headEnd = Buffer.from("\r\n\r\n");
const answered = /^HTTP\/1\.1 200 /;
const isChunked = /^transfer-encoding: *chunked$/im;

/**
 * Reads the body of an answer in chunks as it comes, into one buffer: Node.js' own client takes longer
 * over a gigabyte than the daemon does. What `take` is given is good for as long as the call.
 *
 * Rejects unless the answer's status is 200, its body is in chunks and came whole.
 */
export async function readPlainBody(url: string, take: (bytes: Buffer) => void): Promise<void> {
  const { hostname, port, pathname, search } = new URL(url);
  const unpack = createUnpacker(take);
  const buffer = Buffer.alloc(bufferBytes);
  const socket = connect({
    host: hostname,
    port: Number(port),
    onread: {
      buffer,
      callback(count) {
        try {
          unpack.push(buffer.subarray(0, count));
        } catch (error) {
          socket.destroy(error instanceof Error ? error : undefined);
        }
        return true;
      },
    },
  });
  socket.write(
    `GET ${pathname}${search} HTTP/1.1\r\nHost: ${hostname}:${port}\r\nConnection: close\r\n\r\n`,
  );
  await once(socket, "close");
  if (!unpack.isWhole) throw new Error("an answer broke off");
}

/** Takes apart the head and the chunks of one answer. */
function createUnpacker(take: (bytes: Buffer) => void) {
  /** What came of the head, or of the line before a chunk; null: within a chunk. */
  let line: Buffer | null = Buffer.alloc(0);
  let hasHead = false;
  /** Of the chunk, and of the line's end after it. */
  let left = 0;
  let isWhole = false;

  const takeLine = (bytes: Buffer): Buffer => {
    const end = hasHead ? lineEnd : headEnd;
    const soFar = line && line.length > 0 ? Buffer.concat([line, bytes]) : bytes;
    const at = soFar.indexOf(end);
    if (at === -1) {
      // A copy: the bytes are good for as long as the call.
      line = Buffer.from(soFar);
      return Buffer.alloc(0);
    }
    const text = soFar.toString("latin1", 0, at);
    if (hasHead) {
      left = Number.parseInt(text, 16) + lineEnd.length;
      isWhole = left === lineEnd.length;
      line = null;
    } else {
      if (!answered.test(text) || !isChunked.test(text)) throw new Error(`an answer was: ${text}`);
      hasHead = true;
      line = Buffer.alloc(0);
    }
    return soFar.subarray(at + end.length);
  };

  const takeChunk = (bytes: Buffer): Buffer => {
    const ofChunk = bytes.subarray(0, Math.max(0, left - lineEnd.length));
    if (ofChunk.length > 0) take(ofChunk);
    const used = Math.min(left, bytes.length);
    left -= used;
    if (left === 0) line = Buffer.alloc(0);
    return bytes.subarray(used);
  };

  return {
    push(bytes: Buffer): void {
      for (let rest = bytes; rest.length > 0;) {
        if (isWhole) return;
        rest = line ? takeLine(rest) : takeChunk(rest);
      }
    },
    get isWhole() {
      return isWhole;
    },
  };
}
