import { markWords } from "../text-mark.ts";
import { plainKind } from "./server-kind.ts";
import type { ServerKind } from "./server-kind.ts";
import { unpackUuid } from "./packed-id.ts";
import type { Words } from "./page-room.ts";
import {
  firstServerIn,
  hasTextId,
  isWitnessedIn,
  kindIn,
  missingIn,
  putSince,
  sandboxField,
  sandboxWords,
  serverField,
  serverWords,
  sinceFields,
  sinceMsIn,
  sinceObservedMsIn,
  statusIn,
} from "./page-records.ts";
import type { PackedSince } from "./page-records.ts";
import { PageWords } from "./page-words.ts";
import type { Patch } from "./page-words.ts";
import type { SandboxRow, ServerRow } from "./snapshot.ts";

/** What the numbers in a page's records stand for. */
export interface Legend {
  /** The first stands for null. */
  readonly texts: readonly string[];
  readonly kinds: readonly ServerKind[];
}

/** The record of a server that is settled. */
const settled = new Uint32Array(serverWords);

/**
 * A run of sandboxes with their servers: records in words, as `page-records.ts` lays them out, and a
 * legend of what their numbers stand for.
 *
 * A class, unlike the rest: there are thousands, and their functions are called for each server.
 */
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

  /**
   * For reading ids, whether they are texts, kinds, and which servers are of a sandbox, alone: they are the same in
   * all versions.
   */
  get idWords(): Words {
    return this.held.room;
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
    return firstServerIn(this.idWords[sandbox * sandboxWords + sandboxField.flags] ?? 0);
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

  /** Counts in the legend. */
  kindNumber(server: number): number {
    return kindIn(this.word(this.serverAt(server) + serverField.kind));
  }

  serverKind(server: number): ServerKind {
    return this.legend.kinds[this.kindNumber(server)] ?? plainKind;
  }

  serverName(server: number): string | null {
    return this.serverKind(server).serverName;
  }

  serverTags(server: number): readonly string[] {
    return this.serverKind(server).tags;
  }

  /** Whether the server's status began between two complete polls. */
  isWitnessed(server: number): boolean {
    return isWitnessedIn(this.serverFlags(server));
  }

  sinceMs(server: number): number {
    const at = this.serverAt(server);
    return sinceMsIn(this.word(at + serverField.since), this.word(at + serverField.flags));
  }

  sinceObservedMs(server: number): number {
    const at = this.serverAt(server);
    return sinceObservedMsIn(
      this.word(at + serverField.sinceObserved),
      this.word(at + serverField.kind),
    );
  }

  /**
   * For how long the server was watched in its status up to a moment of the observed clock; null unless it is
   * listed and that began between two complete polls. Milliseconds.
   */
  watchedMs(server: number, untilMs: number): number | null {
    const flags = this.serverFlags(server);
    if (missingIn(flags) !== 0 || !isWitnessedIn(flags)) return null;
    return untilMs - this.sinceObservedMs(server);
  }

  /** Only while the page is made: afterwards it never changes. */
  settleSince(server: number, since: PackedSince): void {
    const at = this.serverAt(server);
    const { own } = this.held;
    if (own) {
      putSince(own, at, since);
      return;
    }
    for (const field of sinceFields) settled[field] = this.word(at + field);
    putSince(settled, 0, since);
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
