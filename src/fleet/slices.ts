/**
 * Work that can take long with a million servers, as a generator that yields between slices. A slice is a few hundred
 * microseconds, or a single item where that takes longer. Who runs it decides what happens between two slices: an edge
 * lets the event loop turn after about 2 ms, a test runs it at once. Nothing here knows a clock.
 */
export type Slices<Result> = Generator<void, Result>;

/** Runs all slices without a pause. */
export function runAtOnce<Result>(slices: Iterator<void, Result>): Result {
  for (;;) {
    const slice = slices.next();
    if (slice.done) return slice.value;
  }
}

/** Uses each item, with an end of a slice after so many of them, where others follow. */
export function* eachInSlices<Item>(
  items: Iterable<Item>,
  most: number,
  use: (item: Item) => void,
): Slices<void> {
  let left = most;
  for (const item of items) {
    if (left-- === 0) {
      yield;
      left = most - 1;
    }
    use(item);
  }
}

/** Sandboxes that are looked at in one slice. */
export const sandboxesPerSlice = 512;
