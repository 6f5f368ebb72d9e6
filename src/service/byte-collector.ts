import { Buffer } from "node:buffer";

/** Gathers a body that comes in chunks. */
export interface ByteCollector {
  readonly size: number;
  /** Keeps the chunk, which must not change any more. */
  add(chunk: Buffer): void;
  /** All of it, in the order in which it came. */
  join(): Buffer;
}

const blockBytes = 64 * 1024;
const smallBytes = 4 * 1024;

/**
 * A kept chunk costs a hundred bytes and more beside its own, so a body in chunks of one byte would
 * take a hundred times its length. Small chunks are copied into blocks instead.
 */
export function createByteCollector(): ByteCollector {
  const parts: Buffer[] = [];
  let size = 0;
  let block = Buffer.alloc(0);
  let start = 0;
  let end = 0;

  const endPart = (): void => {
    if (end > start) parts.push(block.subarray(start, end));
    start = end;
  };

  return {
    get size() {
      return size;
    },
    add(chunk) {
      size += chunk.length;
      if (chunk.length >= smallBytes) {
        endPart();
        parts.push(chunk);
        return;
      }
      if (end + chunk.length > block.length) {
        endPart();
        block = Buffer.allocUnsafeSlow(blockBytes);
        start = end = 0;
      }
      end += chunk.copy(block, end);
    },
    join() {
      endPart();
      return Buffer.concat(parts, size);
    },
  };
}
