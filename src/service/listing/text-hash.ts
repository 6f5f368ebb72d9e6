import { randomBytes } from "node:crypto";
import xxhash from "xxhash-wasm";

const hashes = await xxhash();

export type TextHash = (text: Uint8Array) => bigint;

/**
 * 64 bits over a text, seeded anew at random: hashes of two functions never agree but by chance. It is
 * no cryptographic hash: who writes two texts can make them share one, whatever the seed.
 */
export function createTextHash(): TextHash {
  const seed = randomBytes(8).readBigUInt64LE();
  return (text) => hashes.h64Raw(text, seed);
}
