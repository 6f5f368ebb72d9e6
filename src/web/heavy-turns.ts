import { BusyError, RefusedError } from "../lib/refused-error.ts";

/** Polls and deliveries need the same processor. */
const mostAtOnce = 2;
const mostWaiting = 100;
/** Of one client. */
const mostOfOwner = 20;
const retryAfterMs = 10_000;

interface Turn {
  readonly owner: string;
  readonly begin: () => void;
}

export type TakeTurn = ReturnType<typeof createHeavyTurns>;

/**
 * Lets few requests at a time read much of the history. The others wait: the next one is of the client of whose requests
 * the fewest are in progress, and of these the oldest. Further ones are refused.
 */
export function createHeavyTurns() {
  const waiting: Turn[] = [];
  const inProgress: string[] = [];
  const countOf = (owner: string): number => inProgress.filter((each) => each === owner).length;

  const beginNext = (): void => {
    if (inProgress.length >= mostAtOnce) return;
    const least = Math.min(...waiting.map(({ owner }) => countOf(owner)));
    const at = waiting.findIndex(({ owner }) => countOf(owner) === least);
    const [next] = at === -1 ? [] : waiting.splice(at, 1);
    if (!next) return;
    inProgress.push(next.owner);
    next.begin();
  };

  /**
   * @param left whether the client has left: then nothing is read for it
   * @throws {BusyError} when many wait
   */
  return async <Result>(
    owner: string,
    read: () => Promise<Result>,
    left: () => boolean = () => false,
  ): Promise<Result> => {
    const own = waiting.filter((each) => each.owner === owner).length;
    if (waiting.length >= mostWaiting || own >= mostOfOwner) {
      throw new BusyError("Many reports are being read. Try again.", retryAfterMs);
    }
    const turn = Promise.withResolvers<void>();
    waiting.push({ owner, begin: turn.resolve });
    beginNext();
    await turn.promise;
    try {
      if (left()) throw new RefusedError("conflict", "The client has left.");
      return await read();
    } finally {
      inProgress.splice(inProgress.indexOf(owner), 1);
      beginNext();
    }
  };
}
