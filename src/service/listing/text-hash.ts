import { randomBytes } from "node:crypto";
import xxhash from "xxhash-wasm";

/** Hashes to 64 bits. */
export interface TextHash {
  of(text: Uint8Array): bigint;
  /** Of a text that comes in pieces. */
  begin(): RunningHash;
}

export interface RunningHash {
  update(piece: Uint8Array): void;
  digest(): bigint;
}

// Not awaited here: who requires a module cannot wait for it to load.
const loading = xxhash();

/**
 * Gives what makes hashes, each seeded anew at random: what two of them make of a text never agrees but
 * by chance. It is no cryptographic hash: who writes two texts can make them share one, whatever the seed.
 */
export async function loadTextHash(): Promise<() => TextHash> {
  const hashes = await loading;
  return () => {
    const seed = randomBytes(8).readBigUInt64LE();
    return {
      of: (text) => hashes.h64Raw(text, seed),
      begin: () => hashes.create64(seed),
    };
  };
}
