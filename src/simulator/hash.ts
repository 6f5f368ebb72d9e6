import { hash } from "node:crypto";

/**
 * Names one thing of the world by 128 bits. Four words, because in a listing of a million servers
 * 32 bits alone would give some of them the same id. The first also seeds what is drawn for it.
 */
export type Identity = readonly [number, number, number, number];

/** Hashes two integers to an unsigned 32-bit one. Not for secrets. */
export function mix(seed: number, value: number): number {
  let mixed = (seed + Math.imul(value, 0x9e3779b1)) | 0;
  mixed = Math.imul(mixed ^ (mixed >>> 16), 0x85ebca6b);
  mixed = Math.imul(mixed ^ (mixed >>> 13), 0xc2b2ae35);
  mixed = Math.imul(mixed ^ (mixed >>> 16), 0x27d4eb2f);
  return (mixed ^ (mixed >>> 15)) >>> 0;
}

/** A number from 0 (included) to 1 (excluded), fixed by its seed and what it is drawn for. */
export function draw(seed: number, purpose: number): number {
  return mix(seed, purpose) / 2 ** 32;
}

/** Picks one element, fixed by seed and purpose. */
export function pick<T extends readonly [unknown, ...unknown[]]>(
  items: T,
  seed: number,
  purpose: number,
): T[number] {
  return items[Math.floor(draw(seed, purpose) * items.length)] ?? items[0];
}

export function identityOf(...parts: readonly (string | number)[]): Identity {
  const digest = hash("sha256", JSON.stringify(parts), "buffer");
  return [
    digest.readUInt32LE(0),
    digest.readUInt32LE(4),
    digest.readUInt32LE(8),
    digest.readUInt32LE(12),
  ];
}

export function childOf([a, b, c, d]: Identity, index: number): Identity {
  return [mix(a, index), mix(b, index), mix(c, index), mix(d, index)];
}

const hexOfByte = Array.from({ length: 256 }, (_, byte) => byte.toString(16).padStart(2, "0"));

function hexOf(word: number, firstByte: number, bytes: number): string {
  let text = "";
  for (let byte = firstByte; byte < firstByte + bytes; byte++) {
    text += hexOfByte[(word >>> (24 - 8 * byte)) & 0xff];
  }
  return text;
}

/** Shaped like a random UUID (version 4). */
export function uuidOf([a, b, c, d]: Identity): string {
  const versioned = (b & 0xffff0fff) | 0x4000;
  const variant = (c & 0x3fffffff) | 0x80000000;
  return `${hexOf(a, 0, 4)}-${hexOf(versioned, 0, 2)}-${hexOf(versioned, 2, 2)}-${hexOf(variant, 0, 2)}-${hexOf(variant, 2, 2)}${hexOf(d, 0, 4)}`;
}
