import { Buffer } from "node:buffer";
import type { Status } from "../../core/model.ts";
import { compileAssembly, pageBytes } from "../../platform/assembly.ts";
import type { Exported, Memory } from "../../platform/assembly.ts";
import { texts } from "./texts-wasm.ts";

/** What `assembly/texts.ts` exports. Addresses and lengths are in bytes. */
interface Assembly {
  readonly memory: Memory;
  readonly seed: { value: bigint };
  readonly expected: Exported;
  readonly expectedBytes: Exported;
  readonly room: Exported;
  readonly sameEnd: Exported;
  readonly statuses: Exported;
  readonly statusCount: Exported;
  countSame(start: number, end: number, count: number): number;
  hash(start: number, length: number): bigint;
  makeForm(start: number, length: number, to: number): number;
  hashForm(withStatuses: boolean): bigint;
}

const beginProgram: () => Assembly = compileAssembly(texts);
/** So much is copied at once, where there is as much. */
const stretch = 64 * 1024;
/**
 * Behind a form may stand which of up to 10,000 statuses it is of, a byte each, and how many. Besides, the
 * program reads and writes up to 15 bytes more than it needs.
 */
const mostBehindForm = 16 * 1024;
/** What a long text needed besides is given back. */
const keptBytes = 1024 * 1024;
/** By code. */
const statusOf: readonly Status[] = ["idle", "occupied", "error"];
const nothing = Buffer.alloc(0);

/**
 * Where texts of a listing are compared with what is known of them. They are copied into the memory of a
 * small WebAssembly program: hashing and searching them there takes a fraction of what it does here.
 */
export class TextRoom {
  /**
   * By what the texts that are expected next are known; to be written before they are counted. Not to be
   * kept: it is another one where the memory is.
   */
  expected!: Uint32Array;
  private readonly seed: bigint;
  private assembly!: Assembly;
  private memory!: Uint8Array;
  /** Where in the memory the texts begin, and the codes of statuses: to ask the program takes longer. */
  private room = 0;
  private codes = 0;
  private bytes: Buffer = nothing;
  /** The part of these bytes that is in the room. */
  private from = 0;
  private to = 0;
  /** Where the form is. */
  private formStart = 0;
  private formLength = 0;
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

  /**
   * How many of so many texts that are expected come one after another from `start` on, as items of an
   * array. A text that the bytes do not hold to its end does not count.
   */
  countSame(start: number, count: number): number {
    const length = this.expected[0] ?? 0;
    const at = this.addressOf(start, Math.min(start + length, this.bytes.length));
    return this.assembly.countSame(at, at + this.to - start, count);
  }

  /** Behind the last one that was counted. */
  get sameEnd(): number {
    return this.assembly.sameEnd.value - this.room + this.from;
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
  get statuses(): readonly Status[] {
    const { memory, codes, replaced } = this;
    const count = this.assembly.statusCount.value;
    for (let index = 0; index < count; index++) {
      replaced[index] = statusOf[memory[codes + index] ?? 0] ?? "unknown";
    }
    // Most have as many as the one before: an array that is cut to nothing grows anew.
    if (replaced.length > count) replaced.length = count;
    return replaced;
  }

  private begin(): void {
    this.assembly = beginProgram();
    this.assembly.seed.value = this.seed;
    this.room = this.assembly.room.value;
    this.codes = this.assembly.statuses.value;
    this.formStart = this.formLength = 0;
    this.look();
  }

  /** After the memory became another one. */
  private look(): void {
    const { memory, expected, expectedBytes } = this.assembly;
    this.memory = new Uint8Array(memory.buffer);
    this.expected = new Uint32Array(memory.buffer, expected.value, expectedBytes.value / 4);
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
