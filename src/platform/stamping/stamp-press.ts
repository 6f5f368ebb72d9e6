import { Buffer } from "node:buffer";
import { copyId, wordsPerId } from "../../core/snapshot/packed-id.ts";
import { compileAssembly, pageBytes } from "../assembly.ts";
import type { Exported, Memory } from "../assembly.ts";
import { stamps } from "./stamps-wasm.ts";

/** What `assembly/stamps.ts` exports. Addresses and lengths are in bytes. */
interface Assembly {
  readonly memory: Memory;
  readonly lines: Exported;
  readonly owners: Exported;
  readonly records: Exported;
  readonly room: Exported;
  readonly written: Exported;
  stamp(count: number, stride: number, ownerAt: number, to: number, full: number): number;
}

const beginProgram: () => Assembly = compileAssembly(stamps);
/** The program reads and writes up to 15 bytes more than it needs. */
const overshoot = 16;
/** Longer ones are not kept: what a line takes is bounded. */
const mostStampBytes = 4 * 1024;
const mostTailBytes = 1024;
const mostLineBytes = mostStampBytes + mostTailBytes;
const slackBytes = mostLineBytes + overshoot;
const bytesOfWord = 4;
/** Of UTF-8, for a unit of UTF-16. */
const mostBytesOfUnit = 3;
/** Of a stamp, before its text. */
const headWords = 4;
const ownerWords = 1 + wordsPerId;

/** So many are stamped at once. */
export const mostLines = 256;
/** Of a record that begins with an id. */
const mostRecordWords = 12;

/** Stand for ids in the text of a stamp: as long as a UUID, and nothing that a label or JSON could hold. */
export const ownMark = "\u0001".repeat(36);
/** Stands for the first digits of a line's own id. */
export const shortMark = "\u0002".repeat(8);
export const ownerMark = "\u0003".repeat(36);
const marks = [ownMark, shortMark, ownerMark];

/** Addresses are never 0. */
export const none = 0;

export interface PressSizes {
  /** With so many bytes it is full. */
  readonly pieceBytes: number;
  /** Room for stamps and tails. */
  readonly letterBytes: number;
}

/**
 * Gathers lines that differ in ids alone: each kind of them is laid out once, as a stamp, and a small
 * WebAssembly program fills in the ids of each server. What is rendered for each of a million series must
 * cost next to nothing.
 */
export class StampPress {
  private readonly sizes: PressSizes;
  private readonly assembly: Assembly;
  private memory!: Buffer;
  private lines!: Uint32Array;
  private owners!: Uint32Array;
  private records!: Uint32Array;
  private recordWords = 0;
  private ownerAt = 0;
  private lineCount = 0;
  private ownerCount = 0;
  private readonly letters: number;
  private lettersEnd: number;
  private readonly out: number;
  private outEnd: number;
  private readonly firstBytes: number;

  constructor(sizes: PressSizes) {
    this.sizes = sizes;
    this.assembly = beginProgram();
    this.letters = this.lettersEnd = this.assembly.room.value;
    this.out = this.outEnd = this.letters + sizes.letterBytes + overshoot;
    this.look();
    this.makeRoom(sizes.pieceBytes);
    this.firstBytes = this.memory.length;
  }

  /**
   * Lays out lines, to be stamped until the press is cleared.
   *
   * @param text with marks where ids belong
   * @returns its address; none where it is too long, or there is no room for it
   */
  layOut(text: string): number {
    const bytes = Buffer.from(text);
    if (bytes.length > mostStampBytes) return none;
    const places = marks.map((mark) => blank(bytes, mark));
    const head = [bytes.length, ...places.map(({ length }) => length)];
    const parts = [bytesOf(head), bytes, bytesOf(places.flat())];
    const length = parts.reduce((sum, part) => sum + part.length, 0);
    const address = this.lettersEnd;
    if (address + length > this.letters + this.sizes.letterBytes) return none;
    for (const part of parts) {
      this.memory.set(part, this.lettersEnd);
      this.lettersEnd += part.length;
    }
    return address;
  }

  /**
   * Keeps what is written behind a stamp until the press is cleared.
   *
   * @returns its address; none where it is too long, or there is no room for it
   */
  keepTail(text: string): number {
    const address = this.lettersEnd;
    const begin = address + bytesOfWord;
    const room = Math.min(this.letters + this.sizes.letterBytes - begin, mostTailBytes);
    // To encode it where it belongs is faster, and this is known without looking at it.
    if (text.length > room || Buffer.byteLength(text) > room) return none;
    const length = this.memory.write(text, begin);
    this.memory.writeUInt32LE(length, address);
    this.lettersEnd = begin + length;
    return address;
  }

  /** Whether there may soon be no room for another stamp or tail. */
  get isCrowded(): boolean {
    const { letterBytes } = this.sizes;
    return this.lettersEnd - this.letters > letterBytes - letterBytes / 4;
  }

  /** Forgets all stamps and tails. */
  clear(): void {
    this.lettersEnd = this.letters;
  }

  /** Writes into the text of a stamp. */
  rewrite(stamp: number, at: number, bytes: Uint8Array): void {
    this.memory.set(bytes, stamp + headWords * bytesOfWord + at);
  }

  /**
   * Begins with lines that are to be stamped: at most as many as are stamped at once.
   *
   * @param recordWords of each of their records, which begin with the line's own id
   * @param ownerAt the word of each record that its owner's id begins with; 0 where owners are added
   */
  begin(recordWords: number, ownerAt = 0): void {
    this.recordWords = recordWords;
    this.ownerAt = ownerAt;
    this.lineCount = this.ownerCount = 0;
  }

  /** Takes the records of all lines, one behind another. */
  setRecords(records: Uint32Array): void {
    this.records.set(records);
  }

  /** Whose the next lines are, at least so many. */
  addOwner(lines: number, words: Uint32Array, at: number): void {
    const to = this.ownerCount++ * ownerWords;
    this.owners[to] = lines;
    copyId(words, at, this.owners, to + 1);
  }

  /** @param tail none for a line that ends with its stamp */
  addLine(stamp: number, tail: number): void {
    const { lines } = this;
    const to = this.lineCount++ * 2;
    lines[to] = stamp;
    lines[to + 1] = tail;
  }

  /** How many lines were added since it began. */
  get added(): number {
    return this.lineCount;
  }

  /**
   * Writes the lines that were added, until it is full.
   *
   * @returns how many were written
   */
  stampUntilFull(): number {
    return this.stamp(this.out + this.sizes.pieceBytes);
  }

  /** Writes all lines that were added, however full it gets. */
  stampAll(): void {
    this.makeRoom(this.outEnd - this.out + this.lineCount * mostLineBytes);
    this.stamp(this.memory.length);
  }

  putText(text: string): void {
    // Nearly always there is room however many bytes the characters take.
    const most = text.length * mostBytesOfUnit;
    this.makeRoom(this.outEnd - this.out + (most < slackBytes ? most : Buffer.byteLength(text)));
    this.outEnd += this.memory.write(text, this.outEnd);
  }

  /** Puts a tail behind what is no stamp. */
  putTail(tail: number): void {
    const begin = tail + bytesOfWord;
    const length = this.memory.readUInt32LE(tail);
    this.makeRoom(this.outEnd - this.out + length);
    this.memory.copyWithin(this.outEnd, begin, begin + length);
    this.outEnd += length;
  }

  /** Whether there is enough for a piece. */
  get isFull(): boolean {
    return this.outEnd - this.out >= this.sizes.pieceBytes;
  }

  /** Whether a long text took memory beyond what it has from the beginning. */
  get isOutgrown(): boolean {
    return this.memory.length > this.firstBytes;
  }

  /** All that was written since the last time: good until something is written again. */
  take(): Uint8Array {
    const piece = this.memory.subarray(this.out, this.outEnd);
    this.outEnd = this.out;
    return piece;
  }

  private stamp(full: number): number {
    const { assembly, lineCount } = this;
    if (lineCount === 0) return 0;
    const stride = this.recordWords * bytesOfWord;
    const done = assembly.stamp(lineCount, stride, this.ownerAt * bytesOfWord, this.outEnd, full);
    this.outEnd = assembly.written.value;
    return done;
  }

  private makeRoom(outBytes: number): void {
    const lacking = this.out + outBytes + slackBytes - this.memory.length;
    if (lacking <= 0) return;
    this.assembly.memory.grow(Math.ceil(lacking / pageBytes));
    this.look();
  }

  /** After the memory became another one. */
  private look(): void {
    const { memory, lines, owners, records } = this.assembly;
    this.memory = Buffer.from(memory.buffer);
    this.lines = new Uint32Array(memory.buffer, lines.value, mostLines * 2);
    this.owners = new Uint32Array(memory.buffer, owners.value, mostLines * ownerWords);
    this.records = new Uint32Array(memory.buffer, records.value, mostLines * mostRecordWords);
  }
}

function bytesOf(words: readonly number[]): Uint8Array {
  return new Uint8Array(Uint32Array.from(words).buffer);
}

/** Where a mark was; in its place is now a UUID without its digits. */
function blank(bytes: Buffer, mark: string): readonly number[] {
  const places: number[] = [];
  for (let at = bytes.indexOf(mark); at >= 0; at = bytes.indexOf(mark, at)) {
    bytes.write("00000000-0000-0000-0000-000000000000".slice(0, mark.length), at, "latin1");
    places.push(at);
  }
  return places;
}
