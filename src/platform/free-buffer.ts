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
 * with a part of it may still look at the rest.
 */
export function freeSoon({ buffer }: Uint8Array): void {
  setImmediate(() => {
    if (buffer instanceof ArrayBuffer && !buffer.detached) buffer.transfer(0);
  });
}
