import { Buffer } from "node:buffer";
import { JoinedSandboxes } from "../fleet/duplicates.ts";
import { isAsKnown } from "../fleet/snapshot.ts";
import type { ListedSandbox, SandboxText, Snapshot } from "../fleet/snapshot.ts";
import { createDeviations, type Deviations } from "./deviations.ts";
import { isObject, type JsonValue } from "./json.ts";
import { closeBrace, closeBracket, comma, openBrace, skipSpace } from "./json-bytes.ts";
import {
  type CommonTexts,
  readPlainSandbox,
  readSandbox,
  sandboxesField,
  serversField,
} from "./listed-sandbox.ts";
import { endsTooEarly, notJson, tooLarge } from "./listing-fault.ts";
import type { DeviationNotes } from "./deviation-notes.ts";
import { decode, endOfValue, parseText } from "./listing-scan.ts";
import type { Unkept } from "./unkept.ts";

/** What is used for one listing after another. */
export interface ReaderMemory {
  /** 64 bits of a text. */
  readonly hash: (bytes: Uint8Array) => bigint;
  readonly notes: DeviationNotes;
  readonly common: CommonTexts;
}

export const limits = {
  /** Sandboxes, or whatever else stands in their place: twice what a million servers can be in. */
  items: 2_000_000,
  /** Of a sandbox that comes more than once, all its times together. */
  joinedServers: 10_000,
};

/** Each text is parsed at one of so many polls, though it is known. */
export const polls = 1_024;

/** From the end of an item to its name, as the service writes one item after another. */
const nextItem = Buffer.from('},{"local_sandbox_id":');

/** A piece of the body. */
interface HashedText {
  readonly text: Buffer;
  /** Null: not known yet. */
  readonly hash: bigint | null;
}

/** So long may an item be whose end is guessed: it holds too little to exceed any limit but that of nesting. */
const longestGuess = 64 * 1024;
const maxFirstUnkept = 20;

/** What a slice may cost, and what its parts do, in bytes of parsing: about 5 ns each. */
const sliceCost = 64 * 1024;
const itemCost = 64;
const parseCost = 512;
const hashedPerCost = 16;

/**
 * Reads the items of one list of sandboxes. Where a sandbox is expected, as many bytes as it had are hashed; if the hash
 * is the same, nothing is parsed. Else its end is found, and that piece alone is parsed. The expectation goes on behind
 * the sandbox that came, wherever it was before: so an insertion, a removal or a move costs one parse.
 */
export class ListingItems {
  readonly sandboxes: ListedSandbox[] = [];
  readonly texts: (SandboxText | null)[] = [];
  readonly deviations: Deviations = createDeviations();
  /** Items that are no sandbox that could be kept. */
  leftOut = 0;
  /** Items and texts that cannot be kept. */
  unkeptCount = 0;
  /** The first of them. */
  readonly firstUnkept: Unkept[] = [];
  /** Where the next item is expected; once all are read, where the list ends. */
  at: number;
  private readonly bytes: Buffer;
  private readonly before: Snapshot;
  private readonly memory: ReaderMemory;
  private readonly poll: number;
  private count = 0;
  private guessesNext = true;
  /** Where the next sandbox was before, if the order is as it was. */
  private expected = 0;
  /** By place before: 0, or one more than the index of the sandbox in this list. */
  private readonly listedAt: Int32Array;
  /** The same by id, of those that are new. */
  private readonly newAt = new Map<string, number>();
  private readonly joined = new Map<number, JoinedSandboxes>();
  // Counts without a limit to the names: which of them are told apart depends on the items before.
  private readonly ofItem = createDeviations(Number.POSITIVE_INFINITY);

  /** @param start behind the opening bracket */
  constructor(bytes: Buffer, start: number, before: Snapshot, memory: ReaderMemory, poll: number) {
    this.bytes = bytes;
    this.before = before;
    this.memory = memory;
    this.poll = poll % polls;
    this.listedAt = new Int32Array(before.sandboxes.length);
    this.at = skipSpace(bytes, start);
  }

  /** Reads as many as one slice may, at least one. True once the list has ended. */
  readSome(): boolean {
    const { bytes } = this;
    if (this.count === 0 && bytes[this.at] === closeBracket) return this.end();
    for (let cost = 0; cost < sliceCost;) {
      if (++this.count > limits.items) {
        throw tooLarge(`the listing holds more than ${limits.items} items`);
      }
      cost += itemCost + this.readItem();
      const next = skipSpace(bytes, this.at);
      if (next === bytes.length) throw endsTooEarly();
      if (bytes[next] === closeBracket) {
        this.at = next;
        return this.end();
      }
      if (bytes[next] !== comma) throw notJson(next);
      this.at = skipSpace(bytes, next + 1);
    }
    return false;
  }

  private end(): true {
    this.at++;
    for (const [index, joined] of this.joined) this.sandboxes[index] = joined.joined();
    return true;
  }

  /** @returns what it cost */
  private readItem(): number {
    const { bytes, at, before, expected } = this;
    const known = this.listedAt[expected] === 0 ? (before.texts[expected] ?? null) : null;
    if (!known || !this.mayEndAt(at + known.length)) return this.parseItem(null);
    const text = bytes.subarray(at, at + known.length);
    const hash = this.memory.hash(text);
    const cost = known.length / hashedPerCost;
    const sandbox = before.sandboxes[expected];
    if (!sandbox || hash !== known.hash || known.rereadAt === this.poll) {
      return cost + this.parseItem({ text, hash });
    }
    if (known.note !== 0) this.deviations.add(this.memory.notes.get(known.note));
    this.take(sandbox, expected, known);
    this.at += known.length;
    return cost;
  }

  /** Whether an object may end there, by what stands around it. */
  private mayEndAt(end: number): boolean {
    const { bytes, at } = this;
    if (bytes[at] !== openBrace || bytes[end - 1] !== closeBrace) return false;
    const next = bytes[skipSpace(bytes, end)];
    return next === comma || next === closeBracket;
  }

  /** @param guess the text of the item, if it is as long as the one that is expected */
  private parseItem(guess: HashedText | null): number {
    const { at } = this;
    const isTaken = (guess !== null && this.takeGuess(guess)) || this.takeNextGuess();
    if (!isTaken) this.takeScanned();
    return parseCost + this.at - at;
  }

  /** Where a guess can be parsed, it is right: no object is the beginning of another. */
  private takeGuess({ text, hash }: HashedText): boolean {
    if (text.length > longestGuess) return false;
    const decoded = decode(text);
    const value = parseText(decoded);
    if (value === undefined) return false;
    this.takeValue(value, decoded, { text, hash }, true);
    this.at += text.length;
    return true;
  }

  /** By how the next item begins, if it is written as the service does. Once that fails, it is not tried again. */
  private takeNextGuess(): boolean {
    const { bytes, at } = this;
    if (!this.guessesNext || bytes[at] !== openBrace) return false;
    const found = bytes.subarray(at, at + longestGuess).indexOf(nextItem);
    this.guessesNext =
      found >= 0 && this.takeGuess({ text: bytes.subarray(at, at + found + 1), hash: null });
    return this.guessesNext;
  }

  private takeScanned(): void {
    const { at } = this;
    const text = this.bytes.subarray(at, this.endOfItem());
    const decoded = decode(text);
    const value = parseText(decoded);
    if (value === undefined) throw notJson(at);
    this.takeValue(value, decoded, { text, hash: null }, false);
    this.at += text.length;
  }

  private endOfItem(): number {
    const end = endOfValue(this.bytes, this.at);
    if (end < 0 || this.at === this.bytes.length) throw endsTooEarly();
    if (end === this.at) throw notJson(end);
    return end;
  }

  private takeValue(value: JsonValue, decoded: string, hashed: HashedText, isGuess: boolean): void {
    const { memory, ofItem } = this;
    const { unkeptCount } = this;
    if (isObject(value)) {
      const place = this.placeOf(value["local_sandbox_id"]);
      const known = this.before.sandboxes[place] ?? null;
      const plain = decoded.includes("\\") ? null : readPlainSandbox(value, known, memory.common);
      if (plain) {
        this.takeParsed(plain, place, hashed, 0);
        return;
      }
    }
    // What is plain is within the limits; of any other a guess does not tell.
    if (isGuess) this.endOfItem();
    if (!ofItem.isEmpty) ofItem.clear();
    const sandbox = readSandbox(value, {
      place: `local_sandboxes[${this.count - 1}]`,
      deviations: ofItem,
      common: memory.common,
      onUnkept: (unkept) => this.noteUnkept(unkept),
    });
    const deviations = ofItem.list();
    this.deviations.add(deviations);
    if (!sandbox) {
      this.leftOut++;
      return;
    }
    const isWhole = this.unkeptCount === unkeptCount;
    // What cannot be kept is said with its place: such a sandbox is read anew each time.
    const note = isWhole ? memory.notes.numberOf(deviations) : null;
    this.takeParsed(sandbox, this.placeOf(sandbox.id), hashed, note);
  }

  /** Where a sandbox was before; -1: it is new. */
  private placeOf(id: JsonValue | undefined): number {
    const { before, expected } = this;
    if (typeof id !== "string") return -1;
    return before.sandboxes[expected]?.id === id ? expected : (before.places.get(id) ?? -1);
  }

  private takeParsed(
    listed: ListedSandbox,
    place: number,
    hashed: HashedText,
    note: number | null,
  ): void {
    const { before } = this;
    const index = place < 0 ? this.newAt.get(listed.id) : (this.listedAt[place] ?? 0) - 1;
    if (index !== undefined && index >= 0) {
      this.join(index, listed);
      if (place >= 0) this.expected = place + 1;
      return;
    }
    const known = before.sandboxes[place];
    const sandbox = known && isAsKnown(known, listed) ? known : listed;
    const text = note === null ? null : this.textOf(hashed, note, before.texts[place] ?? null);
    this.take(sandbox, place, text);
  }

  /** The one that was known, where it is the same: as long as all texts are, the snapshot is. */
  private textOf({ text, hash }: HashedText, note: number, known: SandboxText | null): SandboxText {
    const { length } = text;
    const found = hash ?? this.memory.hash(text);
    if (known?.length === length && known.hash === found && known.note === note) return known;
    return { length, hash: found, rereadAt: Number(found % BigInt(polls)), note };
  }

  private take(sandbox: ListedSandbox, place: number, text: SandboxText | null): void {
    const count = this.sandboxes.push(sandbox);
    this.texts.push(text);
    if (place < 0) this.newAt.set(sandbox.id, count - 1);
    else {
      this.listedAt[place] = count;
      this.expected = place + 1;
    }
  }

  /** A sandbox came before in this list. Each time that it does, it must be read. */
  private join(index: number, listed: ListedSandbox): void {
    const first = this.sandboxes[index];
    if (!first) throw new RangeError("an index must be of a sandbox");
    const joined = this.joined.get(index) ?? new JoinedSandboxes(first);
    this.joined.set(index, joined);
    this.texts[index] = null;
    const duplicates = joined.add(listed);
    if (joined.serverCount > limits.joinedServers) {
      throw tooLarge(
        `a sandbox that comes more than once holds more than ${limits.joinedServers} servers`,
      );
    }
    this.deviations.note(`${sandboxesField}.local_sandbox_id`, "duplicate");
    if (duplicates > 0)
      this.deviations.note(`${serversField}.id`, "duplicate", undefined, duplicates);
  }

  private noteUnkept(unkept: Unkept): void {
    this.unkeptCount++;
    if (this.firstUnkept.length < maxFirstUnkept) this.firstUnkept.push(unkept);
  }
}
