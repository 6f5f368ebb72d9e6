import { Buffer } from "node:buffer";

/**
 * Gives the memory of bytes back that nobody reads any more, once the event loop has turned: the caller with a part
 * of a buffer may still look at the rest. As garbage outside of the heap, thousands of buffers would make V8 collect all
 * of its heap. Node's own pool, in which a stream joins short chunks that came faster than they were read, is left
 * alone: to free it throws, or takes other buffers along.
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
