import type { InSteps } from "../in-steps.ts";
import { Holds } from "./holds.ts";
import type { Page } from "./page.ts";

export type Words = Uint32Array<ArrayBuffer>;

/** In words. */
export interface RoomSizes {
  readonly block: number;
  /** Of a snapshot with fewer, each page has a buffer of its own. */
  readonly few: number;
  /** So does a page with more. */
  readonly many: number;
}

const mebi = 1024 * 1024;

/**
 * A freed block of this size goes back to the system at once: glibc's malloc maps all of 32 MiB and
 * more by itself. Smaller ones leave holes among other buffers: one for each page that a poll wrote
 * anew. What of a block was never written to takes no memory.
 */
const usualSizes: RoomSizes = { block: 8 * mebi, few: mebi, many: mebi / 2 };
/** A full block of whose words a smaller share is in use is left. */
const leastInUse = 0.75;
/** As many words are moved in far less than a millisecond. */
const movedAtOnce = 64 * 1024;

/** Where a target's pages have their words: beside one another, when there are many. */
export class PageRoom {
  readonly holds = new Holds();
  private block: Words | null = null;
  private used = 0;
  private before = 0;
  private written = 0;
  private readonly sizes: RoomSizes;

  constructor(sizes = usualSizes) {
    this.sizes = sizes;
  }

  /** Pages are going to be written beside others of so many words. */
  begin(words: number): void {
    this.before = words;
    this.written = 0;
  }

  /** All zero. */
  take(count: number): Words {
    this.written += count;
    const { block, few, many } = this.sizes;
    if (this.before + this.written < few || count > many) return new Uint32Array(count);
    if (!this.block || this.used + count > block) {
      this.block = new Uint32Array(block);
      this.used = 0;
    }
    const { buffer } = this.block;
    const words = new Uint32Array(buffer, this.used * 4, count);
    this.used += count;
    return words;
  }

  /**
   * Moves pages out of full blocks of which little else is in use. The blocks are free once no earlier
   * snapshot has pages there. Until then there is what was written and moved beside what was there before:
   * never more than all pages take. A block for which that leaves no room is emptied after a later listing.
   */
  *gather(pages: readonly Page[]): InSteps<void> {
    const left = this.sparseBlocks(pages);
    if (left.size === 0) return;
    let moved = 0;
    for (const page of pages) {
      const { held } = page;
      if (!left.has(held.room.buffer)) continue;
      held.moveTo(this.take(held.length));
      moved += held.length;
      if (moved < movedAtOnce) continue;
      moved = 0;
      yield;
    }
  }

  private sparseBlocks(pages: readonly Page[]): ReadonlySet<ArrayBuffer> {
    const inUse = new Map<ArrayBuffer, number>();
    const { block } = this.sizes;
    let left = -this.written;
    for (const { held } of pages) {
      const { buffer, length } = held.room;
      left += length;
      if (buffer.byteLength === block * 4) inUse.set(buffer, (inUse.get(buffer) ?? 0) + length);
    }
    // What is left of the block at hand is for the next pages: a new one at each poll would keep V8
    // collecting garbage.
    if (this.block) inUse.delete(this.block.buffer);
    const sparse = new Set<ArrayBuffer>();
    for (const [buffer, words] of [...inUse].toSorted(([, one], [, other]) => one - other)) {
      left -= words;
      if (words >= block * leastInUse || left < 0) break;
      sparse.add(buffer);
    }
    return sparse;
  }
}
