import { setImmediate } from "node:timers/promises";

/** A poll can change a million servers: between two pieces of work comes whatever else is due. */
export async function* paced<Piece>(pieces: Iterable<Piece>): AsyncIterable<Piece> {
  let isFirst = true;
  for (const piece of pieces) {
    if (!isFirst) await setImmediate();
    isFirst = false;
    yield piece;
  }
}

/** N at a time, also of what is made one by one. */
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
