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
