import type { Cell } from "./cells.ts";
import type { Plan, Stretch } from "./plan.ts";
import type { BookedBucket } from "./read-buckets.ts";

/** A bucket of a cell, or the end of the cell. */
export type CellStep =
  | { readonly kind: "bucket"; readonly cell: Cell; readonly found: BookedBucket }
  | { readonly kind: "end"; readonly cell: Cell };

/**
 * Reads the buckets of one cell after the other; of each cell there is an end. Gives some steps at a
 * time, which are to be gone through before the next are asked for.
 *
 * @param sinceMs the beginning of the first cell that is wanted
 */
export async function* readCells(
  { cells, stretches }: Pick<Plan, "cells" | "stretches">,
  sinceMs: number,
  read: (stretch: Stretch) => AsyncIterable<Iterable<BookedBucket>>,
): AsyncIterable<Iterable<CellStep>> {
  const waiting = Iterator.from(cells).filter(({ toMs }) => toMs > sinceMs);
  let current = waiting.next();
  function* endUpTo(atMs: number): Iterable<CellStep> {
    for (; !current.done && current.value.toMs <= atMs; current = waiting.next()) {
      yield { kind: "end", cell: current.value };
    }
  }
  function* stepsOf(some: Iterable<BookedBucket>): Iterable<CellStep> {
    for (const found of some) {
      if (!current.done && current.value.toMs <= found.total.startMs) {
        yield* endUpTo(found.total.startMs);
      }
      if (!current.done) yield { kind: "bucket", cell: current.value, found };
    }
  }
  for (const stretch of stretches) {
    if (stretch.toMs <= sinceMs) continue;
    const wanted = { ...stretch, fromMs: Math.max(stretch.fromMs, sinceMs) };
    for await (const some of read(wanted)) yield stepsOf(some);
  }
  yield endUpTo(Infinity);
}
