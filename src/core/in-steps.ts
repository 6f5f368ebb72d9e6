/**
 * Work that can take long with a million servers, in steps of about a millisecond: between two of them
 * others may have their turn.
 */
export type InSteps<Result> = Generator<void, Result>;

/** What it comes to, without a pause. */
export function atOnce<Result>(steps: Iterator<void, Result>): Result {
  for (;;) {
    const step = steps.next();
    if (step.done) return step.value;
  }
}

/** Uses each piece, with a pause between two of them. */
export function* eachInSteps<Piece>(
  pieces: Iterable<Piece>,
  use: (piece: Piece) => void,
): InSteps<void> {
  let isFirst = true;
  for (const piece of pieces) {
    if (!isFirst) yield;
    isFirst = false;
    use(piece);
  }
}
