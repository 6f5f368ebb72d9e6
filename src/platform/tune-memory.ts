import { setFlagsFromString } from "node:v8";

/**
 * What V8 decides by itself for a process that lives for a while does not fit one that watches for months.
 * V8 reads both at each collection or allocation, so that they may be set while the process runs.
 *
 * - What polls under way hold often outlives a collection of young objects, and is garbage right after:
 *   V8 would learn to make such objects old at once, and old ones stay until all memory is looked through.
 * - It is looked through each time that the heap grew by seven tenths. V8 would wait until garbage is about as
 *   much as what lives, and what is outside the heap would wait with it: the pages of past listings.
 */
export function tuneMemory(): void {
  setFlagsFromString("--no-allocation-site-pretenuring");
  setFlagsFromString("--heap-growing-percent=70");
}
