import xxhash from "xxhash-wasm";

/** Hashes a body to 64 bits while it comes, in whatever pieces. */
export interface BodyHash {
  update(piece: Uint8Array): void;
  digest(): bigint;
}

export type BeginBodyHash = (seed: bigint) => BodyHash;

// Not awaited here: who requires a module cannot wait for it to load.
const loading = xxhash();

export async function loadBodyHash(): Promise<BeginBodyHash> {
  const hashes = await loading;
  return (seed) => hashes.create64(seed);
}
