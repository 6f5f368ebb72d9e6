import type { Clock } from "../lib/clock.ts";

/** A client of a response that takes as long as the client reads. */
export interface Reader {
  /** When it was last ready for more. Monotonic milliseconds. */
  readMs: number;
  /** Null until the response has begun. */
  cutOff: (() => void) | null;
}

/** Limits the number of readers. One that has not read for `idleMs` is cut off in favour of another one. */
export function limitReaders(clock: Clock, limit: number, idleMs: number) {
  const readers = new Set<Reader>();
  return {
    /** Null: the limit is reached. */
    admit(): Reader | null {
      const nowMs = clock.now().monotonicMs;
      if (readers.size >= limit) {
        const [idlest] = [...readers].toSorted((a, b) => a.readMs - b.readMs);
        if (!idlest?.cutOff || nowMs - idlest.readMs < idleMs) return null;
        idlest.cutOff();
        readers.delete(idlest);
      }
      const reader: Reader = { readMs: nowMs, cutOff: null };
      readers.add(reader);
      return reader;
    },
    release: (reader: Reader): void => void readers.delete(reader),
  };
}
