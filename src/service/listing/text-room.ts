import { Buffer } from "node:buffer";
import type { CameTexts } from "../../core/listing-intake.ts";
import { statuses as allStatuses } from "../../core/model.ts";
import type { Status } from "../../core/model.ts";
import { markField, markWords } from "../../core/text-mark.ts";
import { compileAssembly, pageBytes } from "../../platform/assembly.ts";
import type { Exported, Memory } from "../../platform/assembly.ts";
import { closeBrace } from "../json-bytes.ts";
import { texts } from "./texts-wasm.ts";

/** What `assembly/texts.ts` exports. Addresses and lengths are in bytes. */
interface Assembly {
  readonly memory: Memory;
  readonly seed: { value: bigint };
  readonly marks: Exported;
  readonly marksBytes: Exported;
  readonly given: Exported;
  readonly room: Exported;
  readonly knownEnd: Exported;
  readonly others: Exported;
  readonly wanted: Exported;
  readonly statuses: Exported;
  readonly statusesBytes: Exported;
  readonly statusCount: Exported;
  countKnown(
    start: number,
    readable: number,
    count: number,
    withForms: boolean,
    to: number,
  ): number;
  hash(start: number, length: number): bigint;
  makeForm(start: number, length: number, to: number): number;
  hashForm(withStatuses: boolean): bigint;
}

const beginProgram: () => Assembly = compileAssembly(texts);
/** So much is copied at once, where there is as much. */
const stretch = 64 * 1024;
/**
 * Behind a form may stand which of up to 10,000 statuses it is of, a byte each, and how many. Besides, the
 * program reads up to 31 bytes more than it needs, and writes up to 15.
 */
const mostBehindForm = 16 * 1024;
/** What a long text needed besides is given back. */
const keptBytes = 1024 * 1024;
const nothing = Buffer.alloc(0);

export interface Look {
  /** Whether texts are looked for that differ from those expected in nothing but what a steady form lacks. */
  readonly withForms: boolean;
  /** Whether the body ends where the bytes end. */
  readonly isLast: boolean;
}

/**
 * Where texts of a listing are compared with what is known of them. They are copied into the memory of a
 * small WebAssembly program: hashing and searching them there takes a fraction of what it does here.
 */
export class TextRoom implements CameTexts {
  /**
   * The marks of the texts that are expected next, to be written before they are counted; then those of what
   * came. Not to be kept: it is another one where the memory is. So are those below.
   */
  marks!: Uint32Array;
  given!: Uint32Array;
  statuses!: Uint8Array;
  /**
   * After the first text was looked at and not known: how many bytes of it are worth waiting for before the
   * next look, 0 where it is told that it is another one.
   */
  lacking = 0;
  /** Of the form, in bytes. */
  formLength = 0;
  private readonly seed: bigint;
  private assembly!: Assembly;
  private memory!: Uint8Array;
  /** Where in the memory the texts begin: to ask the program takes longer. */
  private room = 0;
  private bytes: Buffer = nothing;
  /** The part of these bytes that is in the room. */
  private from = 0;
  private to = 0;
  /** Where the form is. */
  private formStart = 0;
  private readonly replaced: Status[] = [];

  /** @param seed of 64 bits: what two of them make of a text never agrees but by chance */
  constructor(seed: bigint) {
    this.seed = seed;
    this.begin();
  }

  /** All that is asked is asked of these bytes from now on. */
  open(bytes: Buffer): void {
    this.bytes = bytes;
    this.from = this.to = 0;
  }

  /** After a listing. Others that are read beside it open their bytes anew. */
  close(): void {
    this.open(nothing);
    if (this.memory.length > keptBytes) this.begin();
  }

  /** Of so many texts there can be marks. */
  get most(): number {
    return this.marks.length / markWords;
  }

  /**
   * How many of so many texts that are expected come one after another from `start` on, as items of an
   * array: the very ones, or, if forms are looked at, others of the same steady form.
   */
  countKnown(start: number, count: number, { withForms, isLast }: Look): number {
    const { bytes, marks } = this;
    const length = marks[markField.length] ?? 0;
    this.lacking = 0;
    if (start + length > bytes.length) {
      if (!isLast) this.lacking = length;
      if (!isLast || !withForms) return 0;
    } else if (!withForms && bytes[start + length - 1] !== closeBrace) return 0;
    for (let needed = length; ;) {
      const at = this.addressOf(start, Math.min(start + needed, bytes.length));
      const to = this.room + this.to - this.from;
      const known = this.assembly.countKnown(at, to, count, withForms, to);
      const wanted = this.assembly.wanted.value;
      if (known > 0 || wanted === 0) return known;
      // Each status that is found can make it more.
      needed = wanted + (wanted >>> 3);
      // What was copied may end before the bytes do.
      if (this.to < bytes.length) continue;
      if (!isLast) this.lacking = needed;
      return 0;
    }
  }

  /** Behind the last one that was counted. */
  get knownEnd(): number {
    return this.assembly.knownEnd.value - this.room + this.from;
  }

  /** Of those that were counted: how many are others than were expected. */
  get others(): number {
    return this.assembly.others.value;
  }

  /** 64 bits over a text. */
  hash(start: number, end: number): bigint {
    return BigInt.asUintN(64, this.assembly.hash(this.addressOf(start, end), end - start));
  }

  /**
   * Makes the steady form of a text, which holds until another one is made, other bytes are opened, or one
   * asks of a text that does not lie within it. False where nothing is to be replaced, or the text is no
   * plain one.
   */
  makeForm(start: number, end: number): boolean {
    const address = this.addressOf(start, end);
    this.formStart = this.room + this.to - this.from;
    this.formLength = this.assembly.makeForm(address, end - start, this.formStart);
    return this.formLength > 0;
  }

  get form(): Buffer {
    return Buffer.from(this.memory.buffer, this.formStart, this.formLength);
  }

  /** 64 bits over the form, and over which statuses were replaced in it, or only how many. */
  hashForm(over: "statuses" | "count"): bigint {
    return BigInt.asUintN(64, this.assembly.hashForm(over === "statuses"));
  }

  /** All that were replaced in the form, in the order of the text: as long as that holds. */
  get formStatuses(): readonly Status[] {
    const { statuses, replaced } = this;
    const count = this.assembly.statusCount.value;
    for (let index = 0; index < count; index++) {
      replaced[index] = allStatuses[statuses[index] ?? 0] ?? "unknown";
    }
    // Most have as many as the one before: an array that is cut to nothing grows anew.
    if (replaced.length > count) replaced.length = count;
    return replaced;
  }

  private begin(): void {
    this.assembly = beginProgram();
    this.assembly.seed.value = this.seed;
    this.room = this.assembly.room.value;
    this.formStart = this.formLength = 0;
    this.look();
  }

  /** After the memory became another one. */
  private look(): void {
    const { memory, marks, marksBytes, given, statuses, statusesBytes } = this.assembly;
    const { buffer } = memory;
    this.memory = new Uint8Array(buffer);
    this.marks = new Uint32Array(buffer, marks.value, marksBytes.value / 4);
    this.given = new Uint32Array(buffer, given.value, this.most);
    this.statuses = new Uint8Array(buffer, statuses.value, statusesBytes.value);
  }

  private addressOf(start: number, end: number): number {
    if (start < this.from || end > this.to) this.copy(start, end);
    return this.room + start - this.from;
  }

  private copy(start: number, end: number): void {
    const { bytes, room } = this;
    this.from = start;
    this.to = Math.max(end, Math.min(bytes.length, start + stretch));
    const length = this.to - start;
    const lacking = room + length * 2 + mostBehindForm - this.memory.length;
    if (lacking > 0) {
      this.assembly.memory.grow(Math.ceil(lacking / pageBytes));
      this.look();
    }
    this.memory.set(bytes.subarray(start, this.to), room);
  }
}
