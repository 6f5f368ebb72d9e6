import type { Words } from "./page-room.ts";
import { withRoom } from "./with-room.ts";

/** Words that differ between two versions of pages, each as its place and its value. */
export class PatchLog {
  private words = new Uint32Array(0);
  private count = 0;

  get length(): number {
    return this.count;
  }

  add(place: number, value: number): void {
    this.words = withRoom(this.words, (this.count + 1) * 2);
    this.words[this.count * 2] = place;
    this.words[this.count * 2 + 1] = value;
    this.count++;
  }

  addAll({ words, count }: PatchLog): void {
    this.words = withRoom(this.words, (this.count + count) * 2);
    this.words.set(words.subarray(0, count * 2), this.count * 2);
    this.count += count;
  }

  writeTo(words: Words): void {
    for (let entry = 0; entry < this.count; entry++) {
      words[this.placeOf(entry)] = this.valueOf(entry);
    }
  }

  clear(): void {
    this.count = 0;
  }

  placeOf(entry: number): number {
    return this.words[entry * 2] ?? 0;
  }

  valueOf(entry: number): number {
    return this.words[entry * 2 + 1] ?? 0;
  }

  setValue(entry: number, value: number): void {
    this.words[entry * 2 + 1] = value;
  }
}

/** Entries of a log that many pages share, each of a later place than the one before it. */
export interface Patch {
  readonly log: PatchLog;
  readonly begin: number;
  readonly end: number;
}

/** What versions of a page have in common. A version knows it, not the next one: each would keep the next in memory. */
interface Room {
  words: Words;
  version: PageWords;
}

/**
 * The words of a page in one of its versions. Of all versions with the same room one has its words
 * there. Each other one has a spare of its own, or a patch, which tells what is different from the version
 * next to it. Which one has the room can change, what a version reads does not.
 */
export class PageWords {
  readonly length: number;
  private readonly shared: Room;
  /** The room's or a spare; null with a patch. */
  private held: Words | null;
  private next: PageWords | null = null;
  private patch: Patch | null = null;

  private constructor(held: Words | null, shared: Room | Words) {
    this.shared = "version" in shared ? shared : { words: shared, version: this };
    this.length = this.shared.words.length;
    this.held = held;
  }

  static in(room: Words): PageWords {
    return new PageWords(room, room);
  }

  /** The next version, which takes no room. */
  patched(patch: Patch): PageWords {
    const words = new PageWords(null, this.shared);
    words.next = this;
    words.patch = patch;
    return words;
  }

  /** The next version, which has the room at once. Until something is written to it, it reads the same. */
  copied(): PageWords {
    this.settle();
    const { shared } = this;
    this.held = shared.words.slice();
    return (shared.version = new PageWords(shared.words, shared));
  }

  at(place: number): number {
    return this.held ? (this.held[place] ?? 0) : this.patchedAt(place);
  }

  /** Only while the version is made. @throws {RangeError} where it has no words and no entry for it */
  set(place: number, value: number): void {
    if (this.held) this.held[place] = value;
    else {
      const entry = this.entryOf(place);
      if (!this.patch || entry < 0) throw new RangeError("a patch has no entry for the word");
      this.patch.log.setValue(entry, value);
    }
  }

  /** What this version was made of another one with; null where it was not, or has words by now. */
  patchOver(other: PageWords): Patch | null {
    return this.next === other ? this.patch : null;
  }

  /** The first so many words: to be read at once, as they may soon be another version's. */
  first(length: number): Words {
    return this.held ? this.held.subarray(0, length) : this.read(length);
  }

  /** The words, unless this version has a patch. */
  get own(): Words | null {
    return this.held;
  }

  /** The room, whichever version has it. */
  get room(): Words {
    return this.shared.words;
  }

  /** All versions read what they did: only where it is, is another place. */
  moveTo(room: Words): void {
    const { shared } = this;
    room.set(shared.words);
    shared.words = shared.version.held = room;
  }

  /** From now on this version has the room, and the one that had it a patch or a spare. */
  settle(): void {
    const { shared, next, patch, held } = this;
    if (shared.version === this) return;
    next?.settle();
    const { words, version } = shared;
    if (patch) swapEntries(words, patch);
    else if (held) swap(words, held);
    else throw isGivenUp();
    version.held = held;
    version.patch = patch;
    version.next = patch && this;
    this.held = words;
    this.next = this.patch = null;
    shared.version = this;
  }

  /**
   * Frees a spare at once, with which the version is not read any more: a poll may leave thousands, and
   * garbage of that size would have V8 look through all memory every few polls.
   */
  giveUp(): void {
    if (!this.held || this.shared.version === this) return;
    this.held.buffer.transfer(0);
    this.held = null;
  }

  private patchedAt(place: number): number {
    const entry = this.entryOf(place);
    if (this.patch && entry >= 0) return this.patch.log.valueOf(entry);
    if (!this.next) throw isGivenUp();
    return this.next.at(place);
  }

  private entryOf(place: number): number {
    if (!this.patch) return -1;
    const { log, begin, end } = this.patch;
    let low = begin;
    let high = end;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (log.placeOf(middle) < place) low = middle + 1;
      else high = middle;
    }
    return low < end && log.placeOf(low) === place ? low : -1;
  }

  /** A copy. */
  private read(length: number): Words {
    if (this.held) return this.held.slice(0, length);
    const { next, patch } = this;
    if (!next || !patch) throw isGivenUp();
    const words = next.read(length);
    const { log, begin, end } = patch;
    for (let entry = begin; entry < end; entry++) {
      const place = log.placeOf(entry);
      if (place < length) words[place] = log.valueOf(entry);
    }
    return words;
  }
}

function isGivenUp(): RangeError {
  return new RangeError("a version of a page is read that was given up: hold its snapshot");
}

function swapEntries(words: Words, { log, begin, end }: Patch): void {
  for (let entry = begin; entry < end; entry++) {
    const place = log.placeOf(entry);
    const value = words[place] ?? 0;
    words[place] = log.valueOf(entry);
    log.setValue(entry, value);
  }
}

function swap(some: Words, others: Words): void {
  const spare = some.slice();
  some.set(others);
  others.set(spare);
}
