import { statuses } from "../model.ts";
import type { Status } from "../model.ts";
import { plainKind } from "./server-kind.ts";
import type { ServerKind } from "./server-kind.ts";
import { unpackUuid } from "./packed-id.ts";
import type { Words } from "./page-room.ts";
import { PageWords } from "./page-words.ts";
import type { Patch } from "./page-words.ts";
import type { SandboxRow, ServerRow } from "./snapshot.ts";

/**
 * A run of sandboxes with their servers, packed into words that never change: records of sandboxes,
 * then records of servers, those of one sandbox side by side. A number of a text or of a kind counts in
 * the page's legend, where the text 0 stands for null.
 *
 * | words | of a sandbox | words | of a server |
 * | --- | --- | --- | --- |
 * | 0-3 | id: a UUID, or the number of a text | 0-3 | id: a UUID, or the number of a text |
 * | 4 | benchmark, a text | 4 | since when, UTC milliseconds: the lower 32 bits |
 * | 5 | flags | 5 | the same on the observed clock: the lower 32 bits |
 * | | | 6 | bits 0-23: its kind; 24-31: the upper bits of word 5's number |
 * | | | 7 | flags |
 *
 * Flags are bits of one word: 0-1 the status, 2 whether it began between two complete polls, 3 whether
 * the id is a text; 4-15 of a sandbox its first server, of a server the upper bits of word 4's number;
 * 16-31 how often it was missing. So moments are whole milliseconds, up to the year 2527, and up to 34
 * years of the observed clock.
 */
export const sandboxWords = 6;
export const serverWords = 8;
/** Of a sandbox's mark. */
export const markWords = 6;

export const sandboxField = { benchmark: 4, flags: 5 } as const;
export const serverField = { since: 4, sinceObserved: 5, kind: 6, flags: 7 } as const;
/** Those that say since when a server has its status, and which one that is. */
export const sinceFields = Object.values(serverField);

const statusMask = 0b11;
const witnessedBit = 0b100;
const textIdBit = 0b1000;
const middleShift = 4;
const middleMask = 0xfff0;
const missingShift = 16;
/** One that is missing for longer is counted as missing this often. */
export const maxMissing = 0xffff;
/** A page is full long before, so its last sandbox begins before. */
const maxFirstServer = middleMask >> middleShift;

/** The record of a server that is settled. */
const settled = new Uint32Array(serverWords);

const kindMask = 0xff_ffff;
const kindBits = 24;
const wordRange = 2 ** 32;
const lastSinceMs = 2 ** 44 - 1;
const lastObservedMs = 2 ** 40 - 1;

/** What the numbers in a page's records stand for. */
export interface Legend {
  /** The first stands for null. */
  readonly texts: readonly string[];
  readonly kinds: readonly ServerKind[];
}

export function flagsOf(row: {
  readonly status: Status;
  readonly sinceWitnessed: boolean;
  readonly textId: boolean;
  readonly missing: number;
}): number {
  return (
    (statuses.indexOf(row.status) |
      (row.sinceWitnessed ? witnessedBit : 0) |
      (row.textId ? textIdBit : 0) |
      (Math.min(row.missing, maxMissing) << missingShift)) >>>
    0
  );
}

/** A class, unlike the rest: there are thousands, and their functions are called for each server. */
export class Page {
  /** Of this page in its target's store: a page that takes the place of another keeps it. */
  readonly id: number;
  readonly sandboxCount: number;
  readonly serverCount: number;
  readonly legend: Legend;
  /** The records and, behind them, the marks. */
  readonly held: PageWords;

  constructor(id: number, sandboxCount: number, held: PageWords, legend: Legend) {
    this.id = id;
    this.sandboxCount = sandboxCount;
    this.serverCount = (held.length - sandboxCount * (sandboxWords + markWords)) / serverWords;
    this.legend = legend;
    this.held = held;
  }

  /** The next version of this page. */
  patched(patch: Patch): Page {
    return new Page(this.id, this.sandboxCount, this.held.patched(patch), this.legend);
  }

  /** What this page was made of an earlier version with, as long as that one is in use. */
  patchOver(before: Page): Patch | null {
    return this.held.patchOver(before.held);
  }

  /** The records, to be read at once: before anything is waited for. */
  get words(): Words {
    return this.held.first(this.recordWords);
  }

  /** For reading ids alone, which are the same in all versions. */
  get idWords(): Words {
    return this.held.shared;
  }

  /** How many words `words` has. Behind them are the marks. */
  get recordWords(): number {
    return this.serverAt(this.serverCount);
  }

  /** The server after the last one of the sandbox. */
  serversEnd(sandbox: number): number {
    return sandbox + 1 < this.sandboxCount ? this.serversBegin(sandbox + 1) : this.serverCount;
  }

  serversBegin(sandbox: number): number {
    return firstServerIn(this.sandboxFlags(sandbox));
  }

  sandboxOfServer(server: number): number {
    let low = 0;
    let high = this.sandboxCount - 1;
    while (low < high) {
      const middle = (low + high + 1) >>> 1;
      if (this.serversBegin(middle) <= server) low = middle;
      else high = middle - 1;
    }
    // Empty ones before it begin at the same server.
    return low;
  }

  serverAt(server: number): number {
    return this.sandboxCount * sandboxWords + server * serverWords;
  }

  word(at: number): number {
    return this.held.at(at);
  }

  /** The text at a place that holds the number of one. */
  textAt(at: number): string | null {
    const text = this.word(at);
    return text === 0 ? null : (this.legend.texts[text] ?? null);
  }

  sandboxFlags(sandbox: number): number {
    return this.word(sandbox * sandboxWords + sandboxField.flags);
  }

  serverFlags(server: number): number {
    return this.word(this.serverAt(server) + serverField.flags);
  }

  sandboxId(sandbox: number): string {
    return this.readId(sandbox * sandboxWords, this.sandboxFlags(sandbox));
  }

  serverId(server: number): string {
    return this.readId(this.serverAt(server), this.serverFlags(server));
  }

  serverKind(server: number): ServerKind {
    return (
      this.legend.kinds[kindIn(this.word(this.serverAt(server) + serverField.kind))] ?? plainKind
    );
  }

  serverName(server: number): string | null {
    return this.serverKind(server).serverName;
  }

  serverTags(server: number): readonly string[] {
    return this.serverKind(server).tags;
  }

  /** Whether the server's status began between two complete polls. */
  isWitnessed(server: number): boolean {
    return (this.serverFlags(server) & witnessedBit) !== 0;
  }

  sinceMs(server: number): number {
    const at = this.serverAt(server);
    const upper = (this.word(at + serverField.flags) & middleMask) >>> middleShift;
    return upper * wordRange + this.word(at + serverField.since);
  }

  sinceObservedMs(server: number): number {
    const at = this.serverAt(server);
    const upper = this.word(at + serverField.kind) >>> kindBits;
    return upper * wordRange + this.word(at + serverField.sinceObserved);
  }

  /** Only while the page is made: afterwards it never changes. */
  settleSince(server: number, since: Since): void {
    const at = this.serverAt(server);
    const { own } = this.held;
    if (own) {
      writeSince(own, at, since);
      return;
    }
    for (const field of sinceFields) settled[field] = this.word(at + field);
    writeSince(settled, 0, since);
    for (const field of sinceFields) this.held.set(at + field, settled[field] ?? 0);
  }

  sandboxRow(sandbox: number): SandboxRow {
    const flags = this.sandboxFlags(sandbox);
    return {
      sandboxId: this.sandboxId(sandbox),
      status: statusIn(flags),
      benchmark: this.textAt(sandbox * sandboxWords + sandboxField.benchmark),
      missing: missingIn(flags),
    };
  }

  serverRow(server: number, sandboxId = this.sandboxId(this.sandboxOfServer(server))): ServerRow {
    const flags = this.serverFlags(server);
    const { serverName, benchmark, tags } = this.serverKind(server);
    return {
      sandboxId,
      serverId: this.serverId(server),
      serverName,
      status: statusIn(flags),
      benchmark,
      tags,
      sinceMs: this.sinceMs(server),
      sinceObservedMs: this.sinceObservedMs(server),
      sinceWitnessed: this.isWitnessed(server),
      missing: missingIn(flags),
    };
  }

  private readId(at: number, flags: number): string {
    return hasTextId(flags) ? (this.textAt(at) ?? "") : unpackUuid(this.idWords, at);
  }
}

/**
 * @param records whole words, which are copied
 * @param takeWords gives room for so many words, all zero
 */
export function pageOf(
  { id, sandboxCount, legend }: Pick<Page, "id" | "sandboxCount" | "legend">,
  { buffer, byteOffset, byteLength }: Uint8Array | Uint32Array,
  takeWords: (count: number) => Words = newWords,
): Page {
  const room = takeWords(byteLength / 4 + sandboxCount * markWords);
  const bytes = new Uint8Array(buffer, byteOffset, byteLength);
  new Uint8Array(room.buffer, room.byteOffset, byteLength).set(bytes);
  return new Page(id, sandboxCount, PageWords.in(room), legend);
}

export function newWords(count: number): Words {
  return new Uint32Array(count);
}

/** When a status began. */
export interface Since {
  /** UTC milliseconds. */
  readonly sinceMs: number;
  readonly sinceObservedMs: number;
  readonly sinceWitnessed: boolean;
}

/**
 * Into a server's record, beside what else its words hold. A moment is never put later than it was, or
 * a stay could be counted as less than nothing.
 */
export function writeSince(words: Words, at: number, since: Since): void {
  const sinceMs = within(since.sinceMs, lastSinceMs);
  const observedMs = within(since.sinceObservedMs, lastObservedMs);
  const kind = kindIn(words[at + serverField.kind] ?? 0);
  const flags = words[at + serverField.flags] ?? 0;
  // Of a larger number a word takes the lower 32 bits.
  words[at + serverField.since] = sinceMs;
  words[at + serverField.sinceObserved] = observedMs;
  words[at + serverField.kind] = kind | (Math.floor(observedMs / wordRange) << kindBits);
  words[at + serverField.flags] =
    (flags & ~middleMask & ~witnessedBit) |
    (since.sinceWitnessed ? witnessedBit : 0) |
    (Math.floor(sinceMs / wordRange) << middleShift);
}

function within(ms: number, last: number): number {
  return Math.min(Math.max(Math.floor(ms), 0), last);
}

/** The number of a server's kind, in the word that holds it. */
export function kindIn(word: number): number {
  return word & kindMask;
}

export function withKind(word: number, kind: number): number {
  return ((word & ~kindMask) | kind) >>> 0;
}

export function statusIn(flags: number): Status {
  return statuses[flags & statusMask] ?? "unknown";
}

/** Counts in `statuses`. */
export function statusNumberIn(flags: number): number {
  return flags & statusMask;
}

export function missingIn(flags: number): number {
  return flags >>> missingShift;
}

export function withStatus(flags: number, status: Status): number {
  return ((flags & ~statusMask) | statuses.indexOf(status)) >>> 0;
}

export function withMissing(flags: number, missing: number): number {
  return ((flags & 0xffff) | (Math.min(missing, maxMissing) << missingShift)) >>> 0;
}

export function hasTextId(flags: number): boolean {
  return (flags & textIdBit) !== 0;
}

export function firstServerIn(sandboxFlags: number): number {
  return (sandboxFlags & middleMask) >>> middleShift;
}

export function withFirstServer(sandboxFlags: number, server: number): number {
  if (server > maxFirstServer)
    throw new RangeError("a page must end before it has so many servers");
  return ((sandboxFlags & ~middleMask) | (server << middleShift)) >>> 0;
}
