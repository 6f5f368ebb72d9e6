import type { Buffer } from "node:buffer";

/** Takes a body while it comes. */
export interface BodyReader {
  /** Takes the chunk, which is given away, to be read by `advance`. */
  push(chunk: Buffer): void;
  /** No more chunks come. */
  end(): void;
  /**
   * Reads on until the event loop should turn before more is read (busy), more must come (hungry), or
   * no more is wanted (done).
   */
  advance(): "busy" | "hungry" | "done";
}

/** Feeds a reader and holds the body back while it is busy. */
export interface PacedReader {
  push(chunk: Buffer): void;
  end(): void;
}

export interface ReaderEnds {
  /** Whether nobody waits for the reader any more. */
  readonly isGivenUp: () => boolean;
  /** `isWhole`: all of the body has come. */
  readonly done: (isWhole: boolean) => void;
  readonly failed: (error: unknown) => void;
}

export interface BodyFlow {
  pause(): void;
  resume(): void;
}

/**
 * How many pieces of what is sent meanwhile may go before the next short while of reading, and before
 * all of a body, which must be read in time however often and for how long somebody scrapes.
 */
const piecesFirst = { eachTurn: 64, inAll: 2_048 };

/**
 * Between two short whiles of reading the event loop turns once, or more often as long as each time a
 * piece is sent: who scrapes waits for it, and whoever reads slowly holds nothing up.
 *
 * @param piecesSent how many were sent until now
 */
export function paceReader(
  reader: BodyReader,
  flow: BodyFlow,
  ends: ReaderEnds,
  piecesSent: () => number = () => 0,
): PacedReader {
  let isWaiting = false;
  let isWhole = false;
  let piecesLeft = piecesFirst.inAll;

  const giveWay = (most: number, lately: number): void => {
    setImmediate(() => {
      const now = piecesSent();
      const sent = now - lately;
      piecesLeft -= sent;
      if (sent > 0 && sent < most) return giveWay(most - sent, now);
      isWaiting = false;
      readOn();
    });
  };

  const read = (): void => {
    switch (reader.advance()) {
      case "done":
        return ends.done(isWhole);
      case "hungry":
        // The end comes without being asked for, and after it the connection is someone else's.
        if (!isWhole) flow.resume();
        return;
      case "busy":
        isWaiting = true;
        if (!isWhole) flow.pause();
        giveWay(Math.min(piecesFirst.eachTurn, piecesLeft), piecesSent());
    }
  };
  const readOn = (): void => {
    if (isWaiting || ends.isGivenUp()) return;
    try {
      read();
    } catch (error) {
      ends.failed(error);
    }
  };

  return {
    push(chunk) {
      reader.push(chunk);
      readOn();
    },
    end() {
      isWhole = true;
      reader.end();
      readOn();
    },
  };
}
