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

/** One element, fixed by seed and purpose. */
export function pick<T extends readonly [unknown, ...unknown[]]>(
  items: T,
  seed: number,
  purpose: number,
): T[number] {
  return items[Math.floor(draw(seed, purpose) * items.length)] ?? items[0];
}

export function identityOf(...parts: readonly (string | number)[]): Identity {
  const digest = hash("sha256", JSON.stringify(parts), "buffer");
  const wordAt = (offset: number): number => digest.readUInt32LE(offset);
  return [wordAt(0), wordAt(4), wordAt(8), wordAt(12)];
}

export function childOf([a, b, c, d]: Identity, index: number): Identity {
  return [mix(a, index), mix(b, index), mix(c, index), mix(d, index)];
}

/** Shaped like a random UUID (version 4). */
export function uuidOf([a, b, c, d]: Identity): string {
  const version = (b & 0xffff0fff) | 0x4000;
  const variant = (c & 0x3fffffff) | 0x80000000;
  const [first, second, third, fourth] = [a, version, variant, d].map((word) =>
    (word >>> 0).toString(16).padStart(8, "0"),
  );
  return `${first}-${second?.slice(0, 4)}-${second?.slice(4)}-${third?.slice(0, 4)}-${third?.slice(4)}${fourth}`;
}
