/**
 * Work that can take long with a million servers, as a generator that yields between slices. A slice is a few hundred
 * microseconds, or a single item where that takes longer. After about 2 ms an edge lets the event loop turn; a test runs
 * all slices at once.
 */
export type Slices<Result> = Generator<void, Result>;

/** Runs all slices without a pause. */
export function runAtOnce<Result>(slices: Iterator<void, Result>): Result {
  for (;;) {
    const slice = slices.next();
    if (slice.done) return slice.value;
  }
}

/** Uses each item. A slice ends after `most` of them, where others follow. */
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
