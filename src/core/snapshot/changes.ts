import type { Presence } from "../model.ts";
import { ChangePacker } from "./packed-changes.ts";
import type { PackedChanges } from "./packed-changes.ts";
import type { ServerId } from "./snapshot.ts";
import { StepWalk } from "./step-walk.ts";
import { SortedSteps, Steps } from "./steps.ts";
import type { SightingParts } from "./steps.ts";

/** A server appeared, changed status, or is gone. */
export interface Change extends ServerId {
  readonly serverName: string | null;
  readonly from: Presence;
  readonly to: Presence;
  /** For how long it was watched in `from`; null unless both ends were witnessed. Whole milliseconds. */
  readonly stayMs: number | null;
}

/** Changes, each made only when it is asked for: a first listing has one for each server. */
export interface Changes extends Iterable<Change> {
  readonly length: number;
  /** How many servers lapsed beside: see `Lapse`. */
  readonly lapseCount: number;
  /** All changes, then all lapses, so many at a time, packed anew. */
  packed(atOnce: number): Iterable<PackedChanges>;
  /** The same for all who go over them: each piece is packed once, unless there are very many. */
  pieces(): Iterable<PackedChanges>;
  /** Whoever asked for a piece does not look at it any more. */
  leave(piece: PackedChanges): void;
  /** Nobody looks at a piece any more: what they take is given back. For who asks later they are packed anew. */
  forgetPieces(): void;
}

/** So many at most are in one. */
export const changesPerPiece = 2_048;

/** More than these are packed anew for each who asks for pieces: they take 44 bytes a change. */
const mostKept = 64 * changesPerPiece;

export function changesIn(parts: SightingParts): Changes {
  return new ChangesOfSteps(parts);
}

class ChangesOfSteps implements Changes {
  readonly length: number;
  readonly lapseCount: number;
  private readonly parts: SightingParts;
  private kept: KeptPieces | null = null;

  constructor(parts: SightingParts) {
    const { sorted, removed, lacked } = parts;
    this.parts = parts;
    this.length = sorted.changed + removed.length;
    this.lapseCount = sorted.seenAgain + lacked.length;
  }

  *[Symbol.iterator](): Iterator<Change> {
    let left = this.length;
    if (left === 0) return;
    for (const piece of this.pieces()) {
      try {
        for (let change = 0; change < piece.length && left > 0; change++, left--) {
          yield changeIn(piece, change);
        }
      } finally {
        this.leave(piece);
      }
      // Behind them come lapses.
      if (left === 0) return;
    }
  }

  *packed(atOnce: number): Iterable<PackedChanges> {
    const walk = new StepWalk(this.parts);
    for (let left = this.length + this.lapseCount; left > 0; left -= atOnce) {
      const packer = new ChangePacker(Math.min(atOnce, left));
      walk.packSome(packer);
      yield packer.finish();
    }
  }

  *pieces(): Iterable<PackedChanges> {
    if (!this.areKept) {
      yield* this.packed(changesPerPiece);
      return;
    }
    const kept = (this.kept ??= new KeptPieces(this.packed(changesPerPiece)));
    for (let index = 0; ; index++) {
      if (kept !== this.kept) throw new RangeError("pieces were forgotten that somebody looks at");
      const piece = kept.at(index);
      if (!piece) return;
      yield piece;
    }
  }

  leave(piece: PackedChanges): void {
    if (!this.areKept) free(piece);
  }

  forgetPieces(): void {
    this.kept?.free();
    this.kept = null;
  }

  private get areKept(): boolean {
    return this.length + this.lapseCount <= mostKept;
  }
}

/** Each is packed when it is asked for first. */
class KeptPieces {
  private readonly packing: Iterator<PackedChanges>;
  private readonly pieces: PackedChanges[] = [];

  constructor(packed: Iterable<PackedChanges>) {
    this.packing = packed[Symbol.iterator]();
  }

  /** Undefined behind the last one. Each one before it was asked for. */
  at(index: number): PackedChanges | undefined {
    if (index === this.pieces.length) {
      const next = this.packing.next();
      if (!next.done) this.pieces.push(next.value);
    }
    return this.pieces[index];
  }

  free(): void {
    this.pieces.forEach(free);
  }
}

export function changeIn(piece: PackedChanges, change: number): Change {
  return {
    sandboxId: piece.sandboxId(change),
    serverId: piece.serverId(change),
    serverName: piece.serverName(change),
    from: piece.from(change),
    to: piece.to(change),
    stayMs: piece.stayMs(change),
  };
}

/** As garbage, pieces would make V8 look through all memory sooner. */
function free({ words }: PackedChanges): void {
  words.buffer.transfer(0);
}

export const noChanges: Changes = changesIn({
  before: [],
  after: [],
  touched: new Steps(),
  sorted: SortedSteps.none,
  removed: new Steps(),
  lacked: new Steps(),
  observedMs: 0,
  witnessed: false,
});
