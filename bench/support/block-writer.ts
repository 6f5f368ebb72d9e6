import { Buffer } from "node:buffer";

const blockBytes = 64 * 1_024;

export interface BlockWriter {
  /** ASCII only. */
  write(text: string): void;
  end(): readonly Buffer[];
}

/** Collects text in blocks of one size, cut wherever a block is full. */
export function createBlockWriter(): BlockWriter {
  const blocks: Buffer[] = [];
  let block = Buffer.allocUnsafeSlow(blockBytes);
  let used = 0;
  return {
    write(text) {
      let from = 0;
      while (from < text.length) {
        const written = block.write(from === 0 ? text : text.slice(from), used, "latin1");
        from += written;
        used += written;
        if (used < blockBytes) continue;
        blocks.push(block);
        block = Buffer.allocUnsafeSlow(blockBytes);
        used = 0;
      }
    },
    end: () => (used > 0 ? [...blocks, block.subarray(0, used)] : blocks),
  };
}
