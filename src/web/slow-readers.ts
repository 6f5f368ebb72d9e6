import type { FastifyRequest } from "fastify";
import type { Clock } from "../lib/clock.ts";
import { hostNetwork } from "../lib/networks.ts";

/** A client of a response that takes as long as the client reads. */
export interface Reader {
  readonly owner: string;
  /** When it was last ready for more. Monotonic milliseconds. */
  readMs: number;
  /** Null until the response has begun. */
  cutOff: (() => void) | null;
}

type Sender = Pick<FastifyRequest, "identity" | "sender">;

/** Whose places and turns a request takes. */
export function ownerOf({ identity, sender }: Sender): string {
  return `${hostNetwork(sender)} ${identity?.name ?? ""}`;
}

/**
 * Limits the number of readers. Another one takes the place of one that has not read for `idleMs`, or else of the oldest
 * one of the sender with most places, if that leaves it no fewer than the newcomer's: nobody holds all places.
 */
export function limitReaders(clock: Clock, limit: number, idleMs: number) {
  const readers = new Set<Reader>();
  const findIdle = (nowMs: number): Reader | undefined => {
    const [idlest] = [...readers].toSorted((a, b) => a.readMs - b.readMs);
    return idlest && nowMs - idlest.readMs >= idleMs ? idlest : undefined;
  };
  const findUnfair = (owner: string): Reader | undefined => {
    const byOwner = Map.groupBy(readers, (reader) => reader.owner);
    const own = byOwner.get(owner)?.length ?? 0;
    const [most = []] = [...byOwner.values()].toSorted((a, b) => b.length - a.length);
    return most.length > own + 1 ? most[0] : undefined;
  };
  return {
    /** Null: the limit is reached. */
    admit({ identity, sender }: Sender): Reader | null {
      const nowMs = clock.now().monotonicMs;
      const owner = ownerOf({ identity, sender });
      if (readers.size >= limit) {
        const replaced = findIdle(nowMs) ?? findUnfair(owner);
        if (!replaced?.cutOff) return null;
        replaced.cutOff();
        readers.delete(replaced);
      }
      const reader: Reader = { owner, readMs: nowMs, cutOff: null };
      readers.add(reader);
      return reader;
    },
    remove: (reader: Reader): void => void readers.delete(reader),
  };
}
