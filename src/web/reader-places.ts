import type { Clock } from "../lib/clock.ts";

/** A client of a response that takes as long as the client reads. */
export interface Reader {
  /** When it was last ready for more. Monotonic milliseconds. */
  readMs: number;
  /** Null until the response has begun. */
  cutOff: (() => void) | null;
}

export interface ReaderPlaces {
  /** Null: the limit is reached. */
  take(): Reader | null;
  leave(reader: Reader): void;
}

export interface PlacesOptions {
  readonly most: number;
  /** A reader that has not read for this long can be replaced. */
  readonly idleMs: number;
}

/** Limits the number of readers. */
export function createReaderPlaces(clock: Clock, { most, idleMs }: PlacesOptions): ReaderPlaces {
  const readers = new Set<Reader>();

  const hasRoom = (nowMs: number): boolean => {
    if (readers.size < most) return true;
    const [idlest] = [...readers].toSorted((a, b) => a.readMs - b.readMs);
    if (!idlest?.cutOff || nowMs - idlest.readMs < idleMs) return false;
    idlest.cutOff();
    readers.delete(idlest);
    return true;
  };

  return {
    take() {
      const { monotonicMs } = clock.now();
      if (!hasRoom(monotonicMs)) return null;
      const reader: Reader = { readMs: monotonicMs, cutOff: null };
      readers.add(reader);
      return reader;
    },
    leave: (reader) => void readers.delete(reader),
  };
}
