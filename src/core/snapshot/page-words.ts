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

const nothing = new Uint32Array(0);

/** Entries of a log that many pages share, each of a later place than the one before it. */
export interface Patch {
  readonly log: PatchLog;
  readonly begin: number;
  readonly end: number;
}

/**
 * The words of a page in one of its versions. Of all versions with the same room one has its words
 * there; each other one has a patch, which tells what is different from the version next to it. Which
 * one has the room can change, what a version reads does not.
 */
export class PageWords {
  readonly length: number;
  private room: Words | null;
  private next: PageWords | null = null;
  private patch: Patch | null = null;

  private constructor(length: number, room: Words | null) {
    this.length = length;
    this.room = room;
  }

  static in(room: Words): PageWords {
    return new PageWords(room.length, room);
  }

  /** The next version, which takes no room. */
  patched(patch: Patch): PageWords {
    const words = new PageWords(this.length, null);
    words.next = this;
    words.patch = patch;
    return words;
  }

  at(place: number): number {
    return this.room ? (this.room[place] ?? 0) : this.patchedAt(place);
  }

  /** Only while the version is made. @throws {RangeError} where it has no room and no entry for it */
  set(place: number, value: number): void {
    if (this.room) this.room[place] = value;
    else {
      const entry = this.entryOf(place);
      if (!this.patch || entry < 0) throw new RangeError("a patch has no entry for the word");
      this.patch.log.setValue(entry, value);
    }
  }

  /** What this version was made of another one with; null where it was not, or has the room by now. */
  patchOver(other: PageWords): Patch | null {
    return this.next === other ? this.patch : null;
  }

  /** The first so many words: to be read at once, as the room may soon be another version's. */
  first(length: number): Words {
    if (this.room) return this.room.subarray(0, length);
    const words = this.shared.slice(0, length);
    this.applyTo(words);
    return words;
  }

  /** The room, if this version has it. */
  get own(): Words | null {
    return this.room;
  }

  /** The room, whichever version has it. */
  get shared(): Words {
    return this.room ?? this.next?.shared ?? nothing;
  }

  /** All versions read what they did: only where it is, is another place. */
  moveTo(room: Words): void {
    if (this.next) {
      this.next.moveTo(room);
      return;
    }
    room.set(this.shared);
    this.room = room;
  }

  /** From now on this version has the room, and the one that had it a patch. */
  settle(): void {
    const { next, patch } = this;
    if (!next || !patch) return;
    next.settle();
    const { room } = next;
    if (!room) return;
    const { log, begin, end } = patch;
    for (let entry = begin; entry < end; entry++) {
      const place = log.placeOf(entry);
      const value = room[place] ?? 0;
      room[place] = log.valueOf(entry);
      log.setValue(entry, value);
    }
    this.room = room;
    this.next = this.patch = null;
    next.room = null;
    next.next = this;
    next.patch = patch;
  }

  private patchedAt(place: number): number {
    const entry = this.entryOf(place);
    return this.patch && entry >= 0 ? this.patch.log.valueOf(entry) : (this.next?.at(place) ?? 0);
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

  private applyTo(words: Words): void {
    if (!this.next || !this.patch) return;
    this.next.applyTo(words);
    const { log, begin, end } = this.patch;
    for (let entry = begin; entry < end; entry++) {
      const place = log.placeOf(entry);
      if (place < words.length) words[place] = log.valueOf(entry);
    }
  }
}
