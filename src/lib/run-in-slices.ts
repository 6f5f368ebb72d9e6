import { setImmediate } from "node:timers/promises";

/** Milliseconds. */
const longestSlice = 2;

/**
 * Runs work that comes in slices, and lets the event loop turn whenever about 2 ms have passed. A slice that takes
 * longer by itself is not cut.
 */
export async function runInSlices<Result>(slices: Iterator<void, Result>): Promise<Result> {
  for (;;) {
    const startMs = performance.now();
    do {
      const slice = slices.next();
      if (slice.done) return slice.value;
    } while (performance.now() - startMs < longestSlice);
    await setImmediate();
  }
}
