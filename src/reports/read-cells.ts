import type { Cell } from "./cells.ts";
import type { Plan, Stretch } from "./plan.ts";
import type { BookedBucket } from "./read-buckets.ts";

/** A bucket of a cell, or the end of the cell. */
export type CellStep =
  | { readonly kind: "bucket"; readonly cell: Cell; readonly found: BookedBucket }
  | { readonly kind: "end"; readonly cell: Cell };

/**
 * Reads the buckets of one cell after the other; of each cell there is an end.
 *
 * @param sinceMs the beginning of the first cell that is wanted
 */
export async function* readCells(
  { cells, stretches }: Pick<Plan, "cells" | "stretches">,
  sinceMs: number,
  read: (stretch: Stretch) => AsyncIterable<BookedBucket>,
): AsyncIterable<CellStep> {
  const waiting = Iterator.from(cells).filter(({ toMs }) => toMs > sinceMs);
  let current = waiting.next();
  for (const stretch of stretches) {
    if (stretch.toMs <= sinceMs) continue;
    const wanted = { ...stretch, fromMs: Math.max(stretch.fromMs, sinceMs) };
    for await (const found of read(wanted)) {
      for (; !current.done && found.total.startMs >= current.value.toMs; current = waiting.next()) {
        yield { kind: "end", cell: current.value };
      }
      if (!current.done) yield { kind: "bucket", cell: current.value, found };
    }
  }
  for (; !current.done; current = waiting.next()) yield { kind: "end", cell: current.value };
}
