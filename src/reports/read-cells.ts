import { setImmediate } from "node:timers/promises";
import type { Cell } from "./cells.ts";
import type { Plan, Stretch } from "./plan.ts";
import type { TargetBucket } from "./sources.ts";

/** A bucket of a cell, or the end of the cell. */
export type CellStep =
  | { readonly kind: "bucket"; readonly cell: Cell; readonly found: TargetBucket }
  | { readonly kind: "end"; readonly cell: Cell };

/** So many ends without anything to read between them come before something else has its turn. */
const endsAtOnce = 500;

/**
 * Reads the buckets of one cell after the other; of each cell there is an end. Gives some steps at a
 * time, which are to be gone through before the next are asked for.
 *
 * @param sinceMs the beginning of the first cell that is wanted
 */
export async function* readCells(
  { cellsSince, stretches }: Pick<Plan, "cellsSince" | "stretches">,
  sinceMs: number,
  read: (stretch: Stretch) => AsyncIterable<readonly TargetBucket[]>,
): AsyncIterable<Iterable<CellStep>> {
  const waiting = Iterator.from(cellsSince(sinceMs));
  let current = waiting.next();
  function* endUpTo(atMs: number, most = Infinity): Iterable<CellStep> {
    for (let ends = 0; ends < most && !current.done && current.value.toMs <= atMs; ends += 1) {
      yield { kind: "end", cell: current.value };
      current = waiting.next();
    }
  }
  async function* endSomeUpTo(atMs: number): AsyncIterable<Iterable<CellStep>> {
    while (!current.done && current.value.toMs <= atMs) {
      yield endUpTo(atMs, endsAtOnce);
      await setImmediate();
    }
  }
  function* stepsOf(some: Iterable<TargetBucket>): Iterable<CellStep> {
    for (const found of some) {
      if (!current.done && current.value.toMs <= found.bucket.startMs) {
        yield* endUpTo(found.bucket.startMs);
      }
      if (!current.done) yield { kind: "bucket", cell: current.value, found };
    }
  }
  for (const stretch of stretches) {
    if (stretch.toMs <= sinceMs) continue;
    const wanted = { ...stretch, fromMs: Math.max(stretch.fromMs, sinceMs) };
    yield* endSomeUpTo(wanted.fromMs);
    for await (const some of read(wanted)) yield stepsOf(some);
  }
  yield* endSomeUpTo(Infinity);
}
