/**
 * Gives the memory of bytes back that nobody reads any more: as garbage, thousands of buffers could wait
 * for that at once, and leave as many holes. Where something else may be in their buffer it is left alone.
 */
export function freeBuffer({ buffer, length }: Uint8Array): void {
  if (buffer instanceof ArrayBuffer && length > 0 && buffer.byteLength === length) {
    buffer.transfer(0);
  }
}
