import { ByKind } from "../core/snapshot/by-kind.ts";
import { kindIn, serverField, sinceMsIn } from "../core/snapshot/page-records.ts";
import type { Page } from "../core/snapshot/page.ts";
import type { Words } from "../core/snapshot/page-room.ts";
import { plainKind } from "../core/snapshot/server-kind.ts";
import type { ServerKind } from "../core/snapshot/server-kind.ts";
import { none } from "../platform/stamping/stamp-press.ts";
import type { StampPress } from "../platform/stamping/stamp-press.ts";
import { escapeLabelValue } from "./exposition-text.ts";

/** What is written behind the lines of servers, kept by a press. */
export interface ServerTails {
  /**
   * Where the tail of the server is whose record begins there; none where the press does not keep it.
   *
   * @param words of the page
   */
  addressOf(page: Page, words: Words, at: number): number;
  textOf(page: Page, words: Words, at: number): string;
  /** To be called when the press is cleared. */
  clear(): void;
}

/** Their names and benchmarks. */
export class InfoTails implements ServerTails {
  private readonly press: StampPress;
  /** By their texts: kinds are as many as servers where each has a tag of its own. */
  private readonly known = new Map<string, Map<string, number>>();
  /** None for what is not kept, until the press is cleared. */
  private readonly addresses = new ByKind((kind) => this.keep(kind));

  constructor(press: StampPress) {
    this.press = press;
  }

  addressOf({ legend }: Page, words: Words, at: number): number {
    return this.addresses.ofNumber(legend, kindIn(words[at + serverField.kind] ?? 0));
  }

  textOf({ legend }: Page, words: Words, at: number): string {
    return tailOf(legend.kinds[kindIn(words[at + serverField.kind] ?? 0)] ?? plainKind);
  }

  clear(): void {
    this.known.clear();
    this.addresses.forget();
  }

  private keep(kind: ServerKind): number {
    const { serverName, benchmark } = kind;
    const ofName = this.known.get(serverName ?? "") ?? new Map<string, number>();
    const address = ofName.get(benchmark ?? "") ?? this.press.keepTail(tailOf(kind));
    if (address !== none) this.known.set(serverName ?? "", ofName.set(benchmark ?? "", address));
    return address;
  }
}

function tailOf({ serverName, benchmark }: ServerKind): string {
  return `${escapeLabelValue(serverName ?? "")}",benchmark="${escapeLabelValue(benchmark ?? "")}"} 1\n`;
}

/** Since when they have their status. They change at polls, so many have the moment of one in common. */
export class SinceTails implements ServerTails {
  private readonly press: StampPress;
  private readonly known = new Map<number, number>();
  private lastMs = 0;
  private last = none;

  constructor(press: StampPress) {
    this.press = press;
  }

  addressOf(_: Page, words: Words, at: number): number {
    const sinceMs = sinceMsAt(words, at);
    if (sinceMs === this.lastMs && this.last !== none) return this.last;
    const address = this.known.get(sinceMs) ?? this.press.keepTail(secondsOf(sinceMs));
    if (address !== none) this.known.set(sinceMs, address);
    this.lastMs = sinceMs;
    this.last = address;
    return address;
  }

  textOf(_: Page, words: Words, at: number): string {
    return secondsOf(sinceMsAt(words, at));
  }

  clear(): void {
    this.known.clear();
    this.last = none;
  }
}

function sinceMsAt(words: Words, at: number): number {
  return sinceMsIn(words[at + serverField.since] ?? 0, words[at + serverField.flags] ?? 0);
}

function secondsOf(ms: number): string {
  return `${ms / 1_000}\n`;
}
