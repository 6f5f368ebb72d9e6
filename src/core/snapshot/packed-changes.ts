import { presences } from "../model.ts";
import type { Presence } from "../model.ts";
import { copyId, packUuid, unpackUuid, wordsPerId } from "./packed-id.ts";
import { hasTextId, kindIn, sandboxField, sandboxWords, serverField } from "./page-records.ts";
import type { Words } from "./page-room.ts";
import type { Legend, Page } from "./page.ts";

/**
 * What became of a server that is no change of it: a complete listing lacked it, so that its time from
 * then on is unobserved, or it was seen again in the status that it had.
 */
export type Lapse = "missing" | "seen";

/**
 * Changes of one poll and lapses, side by side in words. A number of a text counts in `texts`, where 0
 * stands for null.
 *
 * | words | |
 * | --- | --- |
 * | 0-3, 4-7 | ids of the server and of its sandbox: a UUID, or the number of a text |
 * | 8 | bits 0-2, 3-5: from, to; 6, 7: which ids are texts; 8-9: the lapse; the rest: the name, a text |
 * | 9-10 | for how long it was in `from`, whole milliseconds, the lower word first; all bits set: unknown |
 */
export const changeWords = 11;
/** Where the id of a change's sandbox is. */
export const sandboxIdAt = wordsPerId;
const field = { server: 0, sandbox: sandboxIdAt, facts: 8, stay: 9 } as const;

const lapses: readonly (Lapse | null)[] = [null, "missing", "seen"];
const serverTextBit = 1 << 6;
const sandboxTextBit = 1 << 7;
const lapseShift = 8;
const nameShift = 10;
const unknownStay = 0xffff_ffff;
const wordRange = 2 ** 32;

/** Read one by one by their numbers; ids are unpacked where they are asked for. */
export class PackedChanges {
  readonly length: number;
  readonly words: Words;
  readonly texts: readonly string[];

  /** @throws {RangeError} when a change is not whole */
  constructor(words: Words, texts: readonly string[]) {
    if (words.length % changeWords !== 0) throw new RangeError("packed changes are not whole");
    this.words = words;
    this.texts = texts;
    this.length = words.length / changeWords;
  }

  serverId(change: number): string {
    return this.id(change, field.server, serverTextBit);
  }

  sandboxId(change: number): string {
    return this.id(change, field.sandbox, sandboxTextBit);
  }

  /** Whether neither id is a text. */
  hasUuids(change: number): boolean {
    return (this.facts(change) & (serverTextBit | sandboxTextBit)) === 0;
  }

  /** Counts in `texts`. */
  nameNumber(change: number): number {
    return this.facts(change) >>> nameShift;
  }

  serverName(change: number): string | null {
    const name = this.nameNumber(change);
    return name === 0 ? null : (this.texts[name] ?? null);
  }

  /** Counts in `presences`. */
  fromNumber(change: number): number {
    return this.facts(change) & 0b111;
  }

  toNumber(change: number): number {
    return (this.facts(change) >>> 3) & 0b111;
  }

  from(change: number): Presence {
    return presences[this.fromNumber(change)] ?? "unknown";
  }

  to(change: number): Presence {
    return presences[this.toNumber(change)] ?? "unknown";
  }

  lapse(change: number): Lapse | null {
    return lapses[(this.facts(change) >>> lapseShift) & 0b11] ?? null;
  }

  /** Whole milliseconds. */
  stayMs(change: number): number | null {
    const at = change * changeWords + field.stay;
    const lower = this.words[at] ?? 0;
    const upper = this.words[at + 1] ?? 0;
    return upper === unknownStay ? null : upper * wordRange + lower;
  }

  countLapses(): number {
    let count = 0;
    for (let change = 0; change < this.length; change++) {
      if (this.lapse(change) !== null) count++;
    }
    return count;
  }

  private facts(change: number): number {
    return this.words[change * changeWords + field.facts] ?? 0;
  }

  private id(change: number, offset: number, textBit: number): string {
    const at = change * changeWords + offset;
    return (this.facts(change) & textBit) === 0
      ? unpackUuid(this.words, at)
      : (this.texts[this.words[at] ?? 0] ?? "");
  }
}

/** What is told of a server beside its ids and name. */
export interface PackedFacts {
  readonly from: Presence;
  readonly to: Presence;
  /** Milliseconds. */
  readonly stayMs: number | null;
  readonly lapse: Lapse | null;
}

/** Packs changes, so many at most; after that it is made anew. */
export class ChangePacker {
  private readonly words: Words;
  private count = 0;
  private readonly texts: string[] = [""];
  private readonly numbers = new Map<string, number>();
  /** By the number of a page's kind: the number of its name, and one more. */
  private nameOfKinds = new Uint32Array(128);
  private kinds: Legend["kinds"] = [];

  constructor(most: number) {
    this.words = new Uint32Array(most * changeWords);
  }

  get isFull(): boolean {
    return (this.count + 1) * changeWords > this.words.length;
  }

  /**
   * Nothing is unpacked.
   *
   * @param fromNumber counts in `presences`, as `toNumber` does
   */
  addPlaced(
    page: Page,
    server: number,
    sandbox: number,
    fromNumber: number,
    toNumber: number,
    stayMs: number | null,
    lapse: Lapse | null,
  ): void {
    const at = this.next();
    // The same in all versions of a page, of which others are looked up in a patch, word by word.
    const { idWords } = page;
    const serverAt = page.serverAt(server);
    const sandboxAt = sandbox * sandboxWords;
    const isServerText = hasTextId(idWords[serverAt + serverField.flags] ?? 0);
    const isSandboxText = hasTextId(idWords[sandboxAt + sandboxField.flags] ?? 0);
    if (isServerText) this.words[at + field.server] = this.numberOf(page.textAt(serverAt) ?? "");
    else copyId(idWords, serverAt, this.words, at + field.server);
    if (isSandboxText) this.words[at + field.sandbox] = this.numberOf(page.textAt(sandboxAt) ?? "");
    else copyId(idWords, sandboxAt, this.words, at + field.sandbox);
    const name = this.nameOfKind(page, kindIn(idWords[serverAt + serverField.kind] ?? 0));
    this.writeFacts(at, isServerText, isSandboxText, name, fromNumber, toNumber, lapse);
    this.writeStay(at, stayMs);
  }

  add(
    ids: {
      readonly sandboxId: string;
      readonly serverId: string;
      readonly serverName: string | null;
    },
    facts: PackedFacts,
  ): void {
    const at = this.next();
    const serverText = this.writeId(ids.serverId, at + field.server);
    const sandboxText = this.writeId(ids.sandboxId, at + field.sandbox);
    const name = this.numberOfName(ids.serverName);
    const [from, to] = [presences.indexOf(facts.from), presences.indexOf(facts.to)];
    this.writeFacts(at, serverText, sandboxText, name, from, to, facts.lapse);
    this.writeStay(at, facts.stayMs);
  }

  /** All that was added. */
  finish(): PackedChanges {
    return new PackedChanges(this.words.subarray(0, this.count * changeWords), this.texts);
  }

  private next(): number {
    return this.count++ * changeWords;
  }

  private writeFacts(
    at: number,
    serverText: boolean,
    sandboxText: boolean,
    name: number,
    from: number,
    to: number,
    lapse: Lapse | null,
  ): void {
    this.words[at + field.facts] =
      from |
      (to << 3) |
      (serverText ? serverTextBit : 0) |
      (sandboxText ? sandboxTextBit : 0) |
      ((lapse === null ? 0 : lapses.indexOf(lapse)) << lapseShift) |
      (name << nameShift);
  }

  private writeStay(at: number, stayMs: number | null): void {
    const { words } = this;
    const wholeMs = stayMs === null ? -1 : Math.round(stayMs);
    words[at + field.stay] = wholeMs;
    words[at + field.stay + 1] = wholeMs < 0 ? unknownStay : wholeMs / wordRange;
  }

  private writeId(id: string, at: number): boolean {
    if (packUuid(id, this.words, at)) return false;
    this.words[at] = this.numberOf(id);
    return true;
  }

  private nameOfKind({ legend: { kinds } }: Page, kind: number): number {
    if (kinds !== this.kinds) {
      this.kinds = kinds;
      if (kinds.length > this.nameOfKinds.length)
        this.nameOfKinds = new Uint32Array(kinds.length * 2);
      else this.nameOfKinds.fill(0, 0, kinds.length);
    }
    const known = this.nameOfKinds[kind] ?? 0;
    if (known !== 0) return known - 1;
    const name = this.numberOfName(kinds[kind]?.serverName ?? null);
    this.nameOfKinds[kind] = name + 1;
    return name;
  }

  private numberOfName(name: string | null): number {
    return name === null ? 0 : this.numberOf(name);
  }

  private numberOf(text: string): number {
    let number = this.numbers.get(text);
    if (number === undefined) {
      number = this.texts.push(text) - 1;
      this.numbers.set(text, number);
    }
    return number;
  }
}
