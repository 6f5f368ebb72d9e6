import { isMarkOf, markKeyOf } from "./marks.ts";
import type { PackedSnapshot } from "./packed-snapshot.ts";

/** As many marks are added in some 10 microseconds. */
const addedAtOnce = 512;
/** Who writes texts with one hash gets them read, and does not make the search long. */
const furthest = 32;

/**
 * Finds a snapshot's sandboxes by their texts. It is made while it is used, a little at each question:
 * what is not found may not have been added yet.
 */
export class TextIndex {
  private readonly before: PackedSnapshot;
  /** Ordinals counted from 1, 0 where there is none, from where the hash points to on. */
  private readonly slots: Uint32Array;
  private readonly sought = new BigUint64Array(1);
  private readonly key = new Uint32Array(this.sought.buffer);
  private pageIndex = 0;

  constructor(before: PackedSnapshot) {
    this.before = before;
    this.slots = new Uint32Array(2 ** Math.ceil(Math.log2(2 * before.sandboxCount + 1)));
  }

  /** The place of the sandbox counted over all pages, or -1. */
  find(length: number, hash: bigint): number {
    this.addSome();
    this.sought[0] = hash;
    const key = this.key[0] ?? 0;
    for (let step = 0; step < furthest; step++) {
      const ordinal = (this.slots[this.slotOf(key, step)] ?? 0) - 1;
      if (ordinal < 0) break;
      const { page, sandbox } = this.before.placeOf(ordinal);
      if (isMarkOf(page, sandbox, length, hash)) return ordinal;
    }
    return -1;
  }

  private addSome(): void {
    const { pages, pageStarts } = this.before;
    let added = 0;
    for (; added < addedAtOnce; this.pageIndex++) {
      const page = pages[this.pageIndex];
      if (!page) return;
      const start = pageStarts[this.pageIndex] ?? 0;
      const end = pageStarts[this.pageIndex + 1] ?? 0;
      for (let ordinal = start; ordinal < end; ordinal++) {
        const key = markKeyOf(page, ordinal - start);
        if (key !== null) this.add(key, ordinal);
      }
      added += end - start;
    }
  }

  private add(key: number, ordinal: number): void {
    for (let step = 0; step < furthest; step++) {
      const slot = this.slotOf(key, step);
      if (this.slots[slot] !== 0) continue;
      this.slots[slot] = ordinal + 1;
      return;
    }
  }

  private slotOf(key: number, step: number): number {
    return (key + step) & (this.slots.length - 1);
  }
}
