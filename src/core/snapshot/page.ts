import { statuses } from "../model.ts";
import type { Status } from "../model.ts";
import { unpackUuid } from "./packed-id.ts";
import type { Words } from "./page-room.ts";
import type { SandboxRow, ServerRow } from "./snapshot.ts";

/**
 * A run of sandboxes with their servers, packed into words that never change: records of sandboxes,
 * then records of servers, those of one sandbox side by side. A number of a text counts in `texts`,
 * where 0 stands for null.
 *
 * | words | of a sandbox | words | of a server |
 * | --- | --- | --- | --- |
 * | 0-3 | id: a UUID, or the number of a text | 0-3 | id: a UUID, or the number of a text |
 * | 4 | its first server | 4-5 | since when, UTC milliseconds (a double) |
 * | 5 | benchmark, a text | 6-7 | the same on the observed clock (a double) |
 * | 6 | flags, and how often it was missing | 8, 9, 10 | name, benchmark, tags (as JSON): texts |
 * | 7 | nothing | 11 | flags, and how often it was missing |
 */
export const sandboxWords = 8;
export const serverWords = 12;

export const sandboxField = { firstServer: 4, benchmark: 5, flags: 6 } as const;
export const serverField = {
  since: 4,
  sinceObserved: 6,
  name: 8,
  benchmark: 9,
  tags: 10,
  flags: 11,
};

const statusMask = 0b11;
const witnessedBit = 0b100;
const textIdBit = 0b1000;
const missingShift = 16;
/** One that is missing for longer is counted as missing this often. */
export const maxMissing = 0xffff;

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
  readonly texts: readonly string[];
  private place: Words;
  private doubles: Float64Array<ArrayBuffer>;

  /**
   * @param words their place in the buffer is a multiple of 8 bytes
   * @param texts the first stands for null
   */
  constructor(id: number, sandboxCount: number, words: Words, texts: readonly string[]) {
    this.id = id;
    this.sandboxCount = sandboxCount;
    this.place = words;
    this.doubles = doublesOf(words);
    this.texts = texts;
    this.serverCount = (words.length - sandboxCount * sandboxWords) / serverWords;
  }

  get words(): Words {
    return this.place;
  }

  /** The words stay what they are: only where they are is another place. */
  moveTo(place: Words): void {
    place.set(this.place);
    this.place = place;
    this.doubles = doublesOf(place);
  }

  /** The server after the last one of the sandbox. */
  serversEnd(sandbox: number): number {
    return sandbox + 1 < this.sandboxCount ? this.serversBegin(sandbox + 1) : this.serverCount;
  }

  serversBegin(sandbox: number): number {
    return this.word(sandbox * sandboxWords + sandboxField.firstServer);
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
    return this.place[at] ?? 0;
  }

  /** The text at a place that holds the number of one. */
  textAt(at: number): string | null {
    const text = this.word(at);
    return text === 0 ? null : (this.texts[text] ?? null);
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

  serverName(server: number): string | null {
    return this.textAt(this.serverAt(server) + serverField.name);
  }

  serverTags(server: number): readonly string[] {
    return readTags(this.textAt(this.serverAt(server) + serverField.tags));
  }

  /** Whether the server's status began between two complete polls. */
  isWitnessed(server: number): boolean {
    return (this.serverFlags(server) & witnessedBit) !== 0;
  }

  sinceMs(server: number): number {
    return this.doubles[(this.serverAt(server) + serverField.since) / 2] ?? 0;
  }

  sinceObservedMs(server: number): number {
    return this.doubles[(this.serverAt(server) + serverField.sinceObserved) / 2] ?? 0;
  }

  /** Only while the page is made: afterwards it never changes. */
  settleSince(server: number, sinceMs: number, sinceObservedMs: number, witnessed: boolean): void {
    const at = this.serverAt(server);
    this.doubles[(at + serverField.since) / 2] = sinceMs;
    this.doubles[(at + serverField.sinceObserved) / 2] = sinceObservedMs;
    const flags = this.word(at + serverField.flags);
    this.place[at + serverField.flags] = witnessed ? flags | witnessedBit : flags & ~witnessedBit;
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
    const at = this.serverAt(server);
    const flags = this.serverFlags(server);
    return {
      sandboxId,
      serverId: this.serverId(server),
      serverName: this.serverName(server),
      status: statusIn(flags),
      benchmark: this.textAt(at + serverField.benchmark),
      tags: this.serverTags(server),
      sinceMs: this.sinceMs(server),
      sinceObservedMs: this.sinceObservedMs(server),
      sinceWitnessed: this.isWitnessed(server),
      missing: missingIn(flags),
    };
  }

  private readId(at: number, flags: number): string {
    return hasTextId(flags) ? (this.textAt(at) ?? "") : unpackUuid(this.place, at);
  }
}

function doublesOf({ buffer, byteOffset, length }: Words): Float64Array<ArrayBuffer> {
  return new Float64Array(buffer, byteOffset, length / 2);
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

const noTags: readonly string[] = [];

function readTags(json: string | null): readonly string[] {
  if (json === null) return noTags;
  const tags: unknown = JSON.parse(json);
  return Array.isArray(tags) ? tags.filter((tag) => typeof tag === "string") : noTags;
}

const oneTagTexts = new Map<string, string>();

/** Null stands for none. */
export function tagsText(tags: readonly string[]): string | null {
  const [first] = tags;
  if (first === undefined) return null;
  if (tags.length > 1) return JSON.stringify(tags);
  // Most have one tag or none, and few are different.
  let text = oneTagTexts.get(first);
  if (text === undefined) {
    if (oneTagTexts.size >= 1_024) oneTagTexts.clear();
    text = JSON.stringify(tags);
    oneTagTexts.set(first, text);
  }
  return text;
}
