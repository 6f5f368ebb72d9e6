import { randomBytes } from "node:crypto";
import xxhash from "xxhash-wasm";

export type TextHash = (text: Uint8Array) => bigint;

// Not awaited here: who requires a module cannot wait for it to load.
const loading = xxhash();

/**
 * Gives what makes functions that hash a text to 64 bits, each seeded anew at random: hashes of two
 * functions never agree but by chance. It is no cryptographic hash: who writes two texts can make them
 * share one, whatever the seed.
 */
export async function loadTextHash(): Promise<() => TextHash> {
  const hashes = await loading;
  return () => {
    const seed = randomBytes(8).readBigUInt64LE();
    return (text) => hashes.h64Raw(text, seed);
  };
}
