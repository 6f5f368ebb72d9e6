import { setImmediate } from "node:timers/promises";

/** Lets the event loop turn between two pieces: a poll can change a million servers. */
export async function* paced<Piece>(pieces: Iterable<Piece>): AsyncIterable<Piece> {
  let isFirst = true;
  for (const piece of pieces) {
    if (!isFirst) await setImmediate();
    isFirst = false;
    yield piece;
  }
}

/** Groups rows into batches; the last one may be shorter. */
export function* batches<Row>(rows: Iterable<Row>, size: number): Iterable<readonly Row[]> {
  let batch: Row[] = [];
  for (const row of rows) {
    batch.push(row);
    if (batch.length < size) continue;
    yield batch;
    batch = [];
  }
  if (batch.length > 0) yield batch;
}

/** The first items, at most `most`; the others are not requested. */
export async function firstOf<Item>(
  items: AsyncIterable<Item>,
  most: number,
): Promise<readonly Item[]> {
  const first: Item[] = [];
  if (most <= 0) return first;
  for await (const item of items) {
    first.push(item);
    if (first.length >= most) break;
  }
  return first;
}

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
