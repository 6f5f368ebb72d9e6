import { Buffer } from "node:buffer";

/**
 * Gives the memory of bytes back that nobody reads any more: as garbage, thousands of buffers could wait
 * for that at once, and leave as many holes. Where something else may be in their buffer it is left alone.
 */
export function freeBuffer({ buffer, length }: Uint8Array): void {
  if (buffer instanceof ArrayBuffer && length > 0 && buffer.byteLength === length) {
    buffer.transfer(0);
  }
}

/**
 * The same for a whole buffer whatever else is in it, once the event loop has turned: whoever called us
 * with a part of it may still look at the rest. Node's own pool, in which a stream joins short chunks
 * that came faster than they were read, is left alone: to free it throws, or takes other buffers along.
 */
export function freeSoon(bytes: Uint8Array): void {
  const { buffer } = bytes;
  if (!(buffer instanceof ArrayBuffer) || mayBePooled(bytes)) return;
  setImmediate(() => {
    if (!buffer.detached) buffer.transfer(0);
  });
}

/** Parts of the pool are shorter than half of it. */
function mayBePooled({ buffer, length }: Uint8Array): boolean {
  return buffer.byteLength === Buffer.poolSize && length < Buffer.poolSize / 2;
}
