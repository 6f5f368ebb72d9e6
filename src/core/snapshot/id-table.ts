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

/** Numbers ids in the order in which they are added, and finds them again: 24 bytes an id. */
export class IdTable {
  private slots = new Int32Array(128);
  private words = new Uint32Array(32 * wordsPerId);
  private readonly others = new Map<string, number>();
  private count = 0;

  /** The number of an id, or -1. */
  find(id: SoughtId): number {
    if (!id.isUuid) return this.others.get(id.text) ?? -1;
    return (this.slots[this.slotOf(id.words, 0)] ?? 0) - 1;
  }

  add(id: SoughtId): void {
    if (id.isUuid) this.addUuid(id.words, 0);
    else this.others.set(id.text, this.count++);
  }

  private addUuid(words: Uint32Array, at: number): void {
    if (this.count * 2 >= this.slots.length) this.grow();
    // Texts are numbered too but take no words: one may need many times as many as there are.
    this.words = withRoom(this.words, (this.count + 1) * wordsPerId);
    copyId(words, at, this.words, this.count * wordsPerId);
    this.slots[this.slotOf(words, at)] = ++this.count;
  }

  /** The slot that holds the id, or the free one where it belongs. */
  private slotOf(words: Uint32Array, at: number): number {
    const mask = this.slots.length - 1;
    let slot = hashUuid(words, at) & mask;
    for (;;) {
      const entry = this.slots[slot] ?? 0;
      if (entry === 0 || this.isEntry(entry - 1, words, at)) return slot;
      slot = (slot + 1) & mask;
    }
  }

  private isEntry(entry: number, words: Uint32Array, at: number): boolean {
    const from = entry * wordsPerId;
    return (
      this.words[from] === words[at] &&
      this.words[from + 1] === words[at + 1] &&
      this.words[from + 2] === words[at + 2] &&
      this.words[from + 3] === words[at + 3]
    );
  }

  private grow(): void {
    const { slots, words } = this;
    this.slots = new Int32Array(slots.length * 2);
    for (const entry of slots) {
      if (entry !== 0) this.slots[this.slotOf(words, (entry - 1) * wordsPerId)] = entry;
    }
  }
}
