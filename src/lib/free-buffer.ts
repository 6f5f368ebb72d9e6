import { Buffer } from "node:buffer";

/**
 * Frees the memory of bytes that are no longer used, after the current turn of the event loop, as the caller may still
 * read other parts of the buffer. Otherwise thousands of buffers outside of the heap would make V8 collect all of its
 * heap. Buffers in Node's own pool are not freed: they share their memory with others.
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
