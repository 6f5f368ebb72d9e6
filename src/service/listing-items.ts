import { Buffer } from "node:buffer";
import type { Deviation } from "../fleet/deviation.ts";
import { asListed, isAsKnown } from "../fleet/snapshot.ts";
import type { ListedSandbox, ListedServer, SandboxText, Snapshot } from "../fleet/snapshot.ts";
import { Deviations } from "./deviations.ts";
import type { JsonValue } from "./json-value.ts";
import {
  closeBrace,
  closeBracket,
  comma,
  decode,
  endOfValue,
  endsTooEarly,
  notJson,
  openBrace,
  parseText,
  skipSpace,
  tooLarge,
  type ValueLimits,
} from "./json.ts";
import {
  type CommonTexts,
  SandboxReader,
  sandboxesField,
  serversField,
  worseSandbox,
  worseServer,
} from "./parse-sandbox.ts";

/** The hash function and the shared texts, which are reused from listing to listing. */
export interface ReaderMemory {
  /** 64 bits of a text. */
  readonly hash: (bytes: Uint8Array) => bigint;
  readonly common: CommonTexts;
}

/** Of one sandbox, or of what is beside the sandboxes. */
export const valueLimits: ValueLimits = {
  bytes: 8 * 1024 * 1024,
  parts: 300_000,
  nesting: Infinity,
};

/** Sandboxes, or whatever else is in their place: twice as many as a million servers can be in. */
const maxItems = 2_000_000;

/** Of a sandbox that is listed more than once, all its times together. */
const maxJoinedServers = 10_000;

/** A sandbox that deviates in more ways is read each time. */
const maxKnownDeviations = 64;

/** Each text is parsed at one of this many polls, though it is known. */
export const pollsPerReread = 1_024;

/** From the end of an item to the name in the next one, as the service writes them. */
const nextItem = Buffer.from('},{"local_sandbox_id":');

/** The longest item whose end is guessed; it is within all limits. */
const longestGuess = 64 * 1024;

/** Costs in bytes of parsing, about 5 ns each: of a slice, and of its parts. */
const sliceCost = 64 * 1024;
const itemCost = 64;
const parseCost = 512;
const hashedPerCost = 16;

/**
 * Reads the items of one list of sandboxes. It expects the sandboxes in their previous order, and hashes as many bytes as
 * the expected one had. If the hash is the same, nothing is parsed. Otherwise the end of the item is located, and only the
 * item is parsed; the sandbox that followed it before is expected next. So an insertion, removal or move costs one parse.
 */
export class ListingItems {
  readonly sandboxes: ListedSandbox[] = [];
  readonly texts: (SandboxText | null)[] = [];
  readonly deviations = new Deviations();
  /** How many items cannot be kept as sandboxes. */
  unkeptCount = 0;
  /** Where the next item is expected; once all are read, where the list ends. */
  at: number;
  private readonly bytes: Buffer;
  private readonly before: Snapshot;
  private readonly memory: ReaderMemory;
  private readonly poll: number;
  private readonly reader: SandboxReader;
  private count = 0;
  private guessesNext = true;
  /** The index in the previous snapshot of the sandbox that is expected next. */
  private expected = 0;
  /** By index in the previous snapshot: one more than the index in this list; 0: not listed. */
  private readonly listedAt: Int32Array;
  /** The index in this list of those that are new, by id. */
  private readonly newAt = new Map<string, number>();
  /** The servers of sandboxes that are listed more than once, by index and id. */
  private readonly joined = new Map<number, Map<string, ListedServer>>();

  /** @param start behind the opening bracket */
  constructor(bytes: Buffer, start: number, before: Snapshot, memory: ReaderMemory, poll: number) {
    this.bytes = bytes;
    this.before = before;
    this.memory = memory;
    this.poll = poll % pollsPerReread;
    this.reader = new SandboxReader(memory.common);
    this.listedAt = new Int32Array(before.sandboxes.length);
    this.at = skipSpace(bytes, start);
  }

  get unkept() {
    return this.reader.unkept;
  }

  /** Reads as many as one slice may, at least one. True once the list has ended. */
  readSome(): boolean {
    const { bytes } = this;
    if (this.count === 0 && bytes[this.at] === closeBracket) return this.end(this.at);
    for (let cost = 0; cost < sliceCost;) {
      if (++this.count > maxItems) throw tooLarge(`the listing holds more than ${maxItems} items`);
      cost += itemCost + this.readItem();
      const next = skipSpace(bytes, this.at);
      if (next === bytes.length) throw endsTooEarly();
      if (bytes[next] === closeBracket) return this.end(next);
      if (bytes[next] !== comma) throw notJson(next);
      this.at = skipSpace(bytes, next + 1);
    }
    return false;
  }

  private end(bracketAt: number): true {
    this.at = bracketAt + 1;
    for (const [index, servers] of this.joined) {
      const sandbox = this.sandboxes[index];
      if (sandbox) this.sandboxes[index] = { ...sandbox, servers: [...servers.values()] };
    }
    return true;
  }

  /** @returns what it cost */
  private readItem(): number {
    const { bytes, at, before, expected } = this;
    const known = this.listedAt[expected] === 0 ? before.texts[expected] : null;
    if (!known || !this.mayEndAt(at + known.length)) return this.parseItem(null, 0);
    const hash = this.memory.hash(bytes.subarray(at, at + known.length));
    const cost = known.length / hashedPerCost;
    const sandbox = before.sandboxes[expected];
    if (!sandbox || hash !== known.hash || known.rereadAt === this.poll) {
      return cost + this.parseItem(hash, known.length);
    }
    if (known.deviations.length > 0) this.deviations.add(known.deviations);
    this.take(sandbox, expected, known);
    this.at += known.length;
    return cost;
  }

  /** Whether an object may end there, by what is around it. */
  private mayEndAt(end: number): boolean {
    const { bytes, at } = this;
    if (bytes[at] !== openBrace || bytes[end - 1] !== closeBrace) return false;
    const next = bytes[skipSpace(bytes, end)];
    return next === comma || next === closeBracket;
  }

  /** @param hash of the first `length` bytes, where the item may be that long; null: its length is not known */
  private parseItem(hash: bigint | null, length: number): number {
    const { bytes, at } = this;
    const isParsed =
      (hash !== null && length <= longestGuess && this.parseUntil(at + length, hash)) ||
      this.parseUntilNext();
    if (!isParsed && !this.parseUntil(endOfValue(bytes, at, valueLimits), null)) throw notJson(at);
    return parseCost + this.at - at;
  }

  /** Guesses by how the next item begins, as the service writes it. Once that fails, it is not tried again. */
  private parseUntilNext(): boolean {
    const { bytes, at } = this;
    if (!this.guessesNext || bytes[at] !== openBrace) return false;
    const found = bytes.subarray(at, at + longestGuess).indexOf(nextItem);
    this.guessesNext = found >= 0 && this.parseUntil(at + found + 1, null);
    return this.guessesNext;
  }

  /** False where no item ends there. A guess that can be parsed is right: no object is the beginning of another. */
  private parseUntil(end: number, hash: bigint | null): boolean {
    const text = this.bytes.subarray(this.at, end);
    const value = parseText(decode(text));
    if (value === undefined) return false;
    this.takeValue(value, text, hash);
    this.at = end;
    return true;
  }

  private takeValue(value: JsonValue, text: Buffer, hash: bigint | null): void {
    const { before, reader } = this;
    const unkeptBefore = this.unkept.count;
    const listed = reader.read(value, this.count - 1);
    const deviations = reader.deviations.list();
    this.deviations.add(deviations);
    if (!listed) {
      this.unkeptCount++;
      return;
    }
    const place = this.placeOf(listed.id);
    const index = place < 0 ? this.newAt.get(listed.id) : (this.listedAt[place] ?? 0) - 1;
    if (index !== undefined && index >= 0) {
      this.join(index, listed);
      if (place >= 0) this.expected = place + 1;
      return;
    }
    // What cannot be kept is reported with its place: such a sandbox is read each time.
    const mayBeKnown =
      this.unkept.count === unkeptBefore && deviations.length <= maxKnownDeviations;
    const known = before.sandboxes[place];
    const sandbox = known && isAsKnown(known, listed) ? known : listed;
    this.take(sandbox, place, mayBeKnown ? this.textOf(text, hash, deviations, place) : null);
  }

  /** The index of a sandbox in the previous snapshot; -1: it is new. */
  private placeOf(id: string): number {
    const { before, expected } = this;
    return before.sandboxes[expected]?.id === id ? expected : (before.places.get(id) ?? -1);
  }

  /** The one that was known, where it is the same: as long as all texts are, the snapshot is. */
  private textOf(
    text: Buffer,
    hash: bigint | null,
    found: readonly Deviation[],
    place: number,
  ): SandboxText {
    const known = this.before.texts[place];
    const { length } = text;
    const own = hash ?? this.memory.hash(text);
    const deviations = this.memory.common.deviations(found);
    const isSame =
      known?.length === length && known.hash === own && known.deviations === deviations;
    if (isSame) return known;
    return { length, hash: own, rereadAt: Number(own % BigInt(pollsPerReread)), deviations };
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

  /** A sandbox is listed again. Each time that it is, it must be read. */
  private join(index: number, listed: ListedSandbox): void {
    const first = asListed(this.sandboxes[index] ?? listed);
    const servers =
      this.joined.get(index) ?? new Map(first.servers.map((server) => [server.id, server]));
    this.joined.set(index, servers);
    this.texts[index] = null;
    let duplicates = 0;
    for (const server of listed.servers) {
      const known = servers.get(server.id);
      if (known) duplicates++;
      servers.set(server.id, known ? worseServer(known, server) : server);
    }
    this.sandboxes[index] = { ...worseSandbox(first, listed), servers: [] };
    if (servers.size > maxJoinedServers) {
      throw tooLarge(`a sandbox that is listed twice holds more than ${maxJoinedServers} servers`);
    }
    this.deviations.note(`${sandboxesField}.local_sandbox_id`, "duplicate");
    if (duplicates > 0) {
      this.deviations.note(`${serversField}.id`, "duplicate", undefined, duplicates);
    }
  }
}
