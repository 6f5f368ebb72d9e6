import { setFlagsFromString } from "node:v8";

/**
 * Has V8 look for garbage each time that the heap grew by a fifth. Left to itself it waits until garbage
 * is about as much as what lives, and what is outside the heap waits with it: the pages of the last few
 * listings. Read by V8 at each collection, so that it may be set while the process runs.
 */
export function keepHeapSmall(): void {
  setFlagsFromString("--heap-growing-percent=20");
}
