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

/** Uses each piece, with a pause after so many of them, where others follow. */
export function* eachInSteps<Piece>(
  pieces: Iterable<Piece>,
  most: number,
  use: (piece: Piece) => void,
): InSteps<void> {
  let left = most;
  for (const piece of pieces) {
    if (left-- === 0) {
      yield;
      left = most - 1;
    }
    use(piece);
  }
}
