import type { Clock } from "../platform/clock.ts";

/** Someone who is sent what takes as long as they read. */
export interface Reader {
  /** When it last was ready for more. Monotonic milliseconds. */
  readMs: number;
  /** Null until the answer has begun. */
  cutOff: (() => void) | null;
}

export interface ReaderPlaces {
  /** A place; null where all are taken. */
  take(): Reader | null;
  leave(reader: Reader): void;
}

export interface PlacesOptions {
  readonly most: number;
  /** Who has not read for that long gives its place to the next. */
  readonly idleMs: number;
}

/** Keeps so many places for readers. */
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
