import type { Change, Changes } from "../../../src/core/snapshot/changes.ts";
import type { PackedChanges } from "../../../src/core/snapshot/packed-changes.ts";
import type { PackedSnapshot } from "../../../src/core/snapshot/packed-snapshot.ts";

/** Packed changes with all that they tell, for comparing. */
export function unpackedIn(packed: PackedChanges) {
  return Array.from({ length: packed.length }, (_, index) => ({
    sandboxId: packed.sandboxId(index),
    serverId: packed.serverId(index),
    serverName: packed.serverName(index),
    from: packed.from(index),
    to: packed.to(index),
    stayMs: packed.stayMs(index),
    lapse: packed.lapse(index),
  }));
}

/** What changes and lapses tell when they were packed, so many at a time at most. */
export function unpackAll(changes: Changes, most: number) {
  const packed = [...changes.packed(most)];
  const all = packed.flatMap(unpackedIn);
  return {
    changes: all.slice(0, changes.length),
    lapses: all.slice(changes.length),
    lapseCount: changes.lapseCount,
    isInFewest:
      packed.length === Math.ceil(all.length / most) &&
      packed.every(({ length }) => length > 0 && length <= most),
  };
}

/** A change as it is packed. */
export function withoutLapse(change: Change) {
  return { ...change, lapse: null };
}

/** Counts from now on how many pieces are asked for, and how many of them are left. */
export function watchPieces(changes: Changes) {
  const count = { asked: 0, left: 0 };
  const [pieces, leave] = [changes.pieces.bind(changes), changes.leave.bind(changes)];
  Object.assign(changes, {
    *pieces() {
      for (const piece of pieces()) {
        count.asked++;
        yield piece;
      }
    },
    leave(piece: PackedChanges) {
      count.left++;
      leave(piece);
    },
  });
  return count;
}

/** What the pages of a snapshot say, in whatever order their legends are: a copied page keeps that of before. */
export function spelledOut({ pages }: PackedSnapshot) {
  return pages.map((page) => ({
    id: page.id,
    sandboxes: Array.from({ length: page.sandboxCount }, (_, at) => page.sandboxRow(at)),
    servers: Array.from({ length: page.serverCount }, (_, at) => page.serverRow(at)),
  }));
}
