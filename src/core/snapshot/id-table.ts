import { copyId, hashUuid, packUuid, wordsPerId } from "./packed-id.ts";
import { hasTextId } from "./page-records.ts";
import type { Page } from "./page.ts";
import { withRoom } from "./with-room.ts";

/** An id, packed where it is a UUID. Used again for the next one where many are sought. */
export class SoughtId {
  text = "";
  isUuid = false;
  readonly words = new Uint32Array(wordsPerId);

  set(text: string): this {
    this.text = text;
    this.isUuid = packUuid(text, this.words, 0);
    return this;
  }
}

export function seekId(text: string): SoughtId {
  return new SoughtId().set(text);
}

/** Whether the id whose record begins at `at` is the sought one. */
export function isIdAt(page: Page, at: number, flags: number, id: SoughtId): boolean {
  if (hasTextId(flags)) return !id.isUuid && page.textAt(at) === id.text;
  const { words } = id;
  const { idWords } = page;
  return (
    id.isUuid &&
    idWords[at] === words[0] &&
    idWords[at + 1] === words[1] &&
    idWords[at + 2] === words[2] &&
    idWords[at + 3] === words[3]
  );
}

/** Slots that are looked through at each id that is added, after a table became too small. */
const movedAtOnce = 16;

/**
 * Numbers ids in the order in which they are added, and finds them again: 24 bytes an id. A larger table
 * is filled little by little: to fill it at once would hold up whoever adds the next of 100,000 ids.
 */
export class IdTable {
  private slots = new Int32Array(128);
  /** Of the table before: those from `moved` on are looked through still. */
  private slotsBefore = new Int32Array(0);
  private moved = 0;
  private words = new Uint32Array(32 * wordsPerId);
  private readonly others = new Map<string, number>();
  private count = 0;

  /** The number of an id, or -1. */
  find(id: SoughtId): number {
    if (!id.isUuid) return this.others.get(id.text) ?? -1;
    const found = findIn(this.slots, this.words, id.words);
    if (found >= 0 || this.slotsBefore.length === 0) return found;
    return findIn(this.slotsBefore, this.words, id.words);
  }

  add(id: SoughtId): void {
    if (id.isUuid) this.addUuid(id.words);
    else this.others.set(id.text, this.count++);
  }

  private addUuid(id: Uint32Array): void {
    if (this.count * 2 >= this.slots.length) this.grow();
    this.move(movedAtOnce);
    // Texts are numbered too but take no words: one may need many times as many as there are.
    this.words = withRoom(this.words, (this.count + 1) * wordsPerId);
    copyId(id, 0, this.words, this.count * wordsPerId);
    this.slots[slotOf(this.slots, this.words, id, 0)] = ++this.count;
  }

  private grow(): void {
    this.move(this.slotsBefore.length);
    this.slotsBefore = this.slots;
    this.slots = new Int32Array(this.slots.length * 2);
  }

  private move(most: number): void {
    const { slots, slotsBefore, words } = this;
    const end = Math.min(this.moved + most, slotsBefore.length);
    for (; this.moved < end; this.moved++) {
      const entry = slotsBefore[this.moved] ?? 0;
      if (entry === 0) continue;
      slots[slotOf(slots, words, words, (entry - 1) * wordsPerId)] = entry;
    }
    if (slotsBefore.length === 0 || end < slotsBefore.length) return;
    this.slotsBefore = new Int32Array(0);
    this.moved = 0;
  }
}

function findIn(slots: Int32Array, words: Uint32Array, id: Uint32Array): number {
  return (slots[slotOf(slots, words, id, 0)] ?? 0) - 1;
}

/** The slot that holds the id whose words begin at `at`, or the free one where it belongs. */
function slotOf(slots: Int32Array, words: Uint32Array, id: Uint32Array, at: number): number {
  const mask = slots.length - 1;
  let slot = hashUuid(id, at) & mask;
  for (;;) {
    const entry = slots[slot] ?? 0;
    if (entry === 0 || isEntry(words, entry - 1, id, at)) return slot;
    slot = (slot + 1) & mask;
  }
}

function isEntry(words: Uint32Array, entry: number, id: Uint32Array, at: number): boolean {
  const from = entry * wordsPerId;
  return (
    words[from] === id[at] &&
    words[from + 1] === id[at + 1] &&
    words[from + 2] === id[at + 2] &&
    words[from + 3] === id[at + 3]
  );
}
