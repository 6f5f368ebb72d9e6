import type { Words } from "../core/snapshot/page-room.ts";

/** The same memory. */
export function bytesOf({ buffer, byteOffset, byteLength }: Uint32Array): Uint8Array {
  return new Uint8Array(buffer, byteOffset, byteLength);
}

/**
 * A copy: words lie at multiples of their length.
 *
 * @throws {RangeError} when they are not whole
 */
export function wordsOf(bytes: Uint8Array): Words {
  return new Uint32Array(new Uint8Array(bytes).buffer);
}
