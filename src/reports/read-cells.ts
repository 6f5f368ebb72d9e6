import type { Cell } from "./cells.ts";
import type { Stretch } from "./plan.ts";
import type { BookedBucket } from "./read-buckets.ts";

/** A bucket of a cell, or the end of the cell. */
export type CellStep =
  | { readonly kind: "bucket"; readonly cell: Cell; readonly found: BookedBucket }
  | { readonly kind: "end"; readonly cell: Cell };

/** Reads the buckets of one cell after the other; of each cell there is an end. */
export async function* readCells(
  cells: readonly Cell[],
  stretches: readonly Stretch[],
  read: (stretch: Stretch) => AsyncIterable<BookedBucket>,
): AsyncIterable<CellStep> {
  let index = 0;
  const fromMs = cells[0]?.fromMs ?? Infinity;
  for (const stretch of stretches) {
    if (stretch.toMs <= fromMs) continue;
    const wanted = { ...stretch, fromMs: Math.max(stretch.fromMs, fromMs) };
    for await (const found of read(wanted)) {
      for (let cell = cells[index]; cell; cell = cells[index]) {
        if (found.total.startMs < cell.toMs) {
          yield { kind: "bucket", cell, found };
          break;
        }
        yield { kind: "end", cell };
        index += 1;
      }
    }
  }
  for (const cell of cells.slice(index)) yield { kind: "end", cell };
}
