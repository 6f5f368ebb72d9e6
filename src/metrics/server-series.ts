import { statuses } from "../core/model.ts";
import type { Target } from "../core/model.ts";
import {
  hasTextId,
  sandboxField,
  sandboxWords,
  serverField,
  serverWords,
  statusIn,
  statusNumberIn,
} from "../core/snapshot/page-records.ts";
import type { Page } from "../core/snapshot/page.ts";
import type { Words } from "../core/snapshot/page-room.ts";
import { mostLines, none, ownerMark, ownMark } from "../platform/stamping/stamp-press.ts";
import type { PressSizes, StampPress } from "../platform/stamping/stamp-press.ts";
import { escapeLabelValue, familyHeader } from "./exposition-text.ts";
import type { ExpositionSyntax } from "./exposition-text.ts";
import type { ServerFamily, SubjectText } from "./server-families.ts";
import type { ServerTails } from "./server-tails.ts";

/** A target's pages at one moment. They never change, however long it takes to render them. */
export interface ShownTarget {
  readonly target: Target;
  readonly pages: readonly Page[];
}

/**
 * Pieces large enough that sending one costs little against rendering it, and small enough that both take a
 * millisecond or so.
 */
export const seriesPress: PressSizes = { pieceBytes: 2 ** 20, letterBytes: 2 ** 18 };

/**
 * The families with series for each server or sandbox: by far the most of a scrape. They are
 * rendered straight from the pages, in pieces of about a MiB, each when it is asked for. A piece is
 * good until the next one is asked for: then its bytes are overwritten.
 */
export function* renderServerSeries(
  shown: readonly ShownTarget[],
  families: readonly ServerFamily[],
  syntax: ExpositionSyntax,
  press: StampPress,
): Generator<Uint8Array, void> {
  for (const family of families) {
    press.clear();
    press.putText(familyHeader(syntax, family.name, family.help, "gauge"));
    const tails = family.tails?.(press) ?? null;
    for (const { target, pages } of shown) {
      if (pages.length === 0) continue;
      const subjects = new SubjectWriter(press, family, target, tails);
      for (const page of pages) {
        let { words } = page;
        for (let next = 0; next < subjects.countIn(page);) {
          next = subjects.write(page, words, next);
          if (!press.isFull) continue;
          yield press.take();
          ({ words } = page);
        }
      }
    }
  }
  yield press.take();
}

/** Writes the lines of one target's servers or sandboxes. */
class SubjectWriter {
  private readonly press: StampPress;
  private readonly family: ServerFamily;
  private readonly labels: string;
  private readonly tails: ServerTails | null;
  /** Of each status, for ids that are UUIDs. */
  private stamps: readonly number[] = [];
  // The server of the page that was reached, and its sandbox or one before.
  private server = 0;
  private sandbox = 0;

  constructor(
    press: StampPress,
    family: ServerFamily,
    { region, key }: Target,
    tails: ServerTails | null,
  ) {
    this.press = press;
    this.family = family;
    this.tails = tails;
    this.labels = `region="${escapeLabelValue(region)}",key="${escapeLabelValue(key)}"`;
    this.layOut();
  }

  countIn(page: Page): number {
    return this.family.of === "sandbox" ? page.sandboxCount : page.serverCount;
  }

  /**
   * Writes some, from the first one on, or fewer once the press is full. Gives the one to go on with.
   *
   * @param words of the page
   */
  write(page: Page, words: Words, first: number): number {
    const { press, family } = this;
    const fits =
      family.of === "sandbox"
        ? this.addSandboxes(page, words, first)
        : this.addServers(page, words, first);
    const next = first + press.stampUntilFull();
    if (press.isFull || fits) return next;
    this.putNext(page, words, next);
    if (press.isCrowded) this.layOut();
    return next + 1;
  }

  /** Gives whether all that were looked at can be stamped: otherwise one follows that can not. */
  private addSandboxes(page: Page, words: Words, first: number): boolean {
    const { press, stamps } = this;
    const begin = first * sandboxWords;
    const end = Math.min(first + mostLines, page.sandboxCount) * sandboxWords;
    press.begin(sandboxWords);
    press.addOwner(mostLines, words, begin);
    for (let at = begin; at < end; at += sandboxWords) {
      const flags = words[at + sandboxField.flags] ?? 0;
      const stamp = stamps[statusNumberIn(flags)] ?? none;
      if (stamp === none || hasTextId(flags)) break;
      press.addLine(stamp, none);
    }
    const addedEnd = begin + press.added * sandboxWords;
    press.setRecords(words.subarray(begin, addedEnd));
    return addedEnd === end;
  }

  private addServers(page: Page, words: Words, first: number): boolean {
    const { press } = this;
    const last = Math.min(first + mostLines, page.serverCount);
    let server = first;
    press.begin(serverWords);
    if (first !== this.server) this.sandbox = page.sandboxOfServer(first);
    while (server < last) {
      const sandboxEnd = page.serversEnd(this.sandbox);
      if (server < sandboxEnd) {
        const at = this.sandbox * sandboxWords;
        if (hasTextId(words[at + sandboxField.flags] ?? 0)) break;
        const end = Math.min(sandboxEnd, last);
        const added = this.addLines(page, words, server, end);
        if (added > 0) press.addOwner(added, words, at);
        server += added;
        if (server < end) break;
      }
      if (server === sandboxEnd) this.sandbox++;
    }
    this.server = server;
    if (server > first) {
      press.setRecords(words.subarray(page.serverAt(first), page.serverAt(server)));
    }
    return server === last;
  }

  /** Gives how many of these servers can be stamped before one that can not. */
  private addLines(page: Page, words: Words, first: number, end: number): number {
    const { press, stamps, tails } = this;
    let at = page.serverAt(first);
    for (let server = first; server < end; server++, at += serverWords) {
      const flags = words[at + serverField.flags] ?? 0;
      const stamp = stamps[statusNumberIn(flags)] ?? none;
      if (stamp === none || hasTextId(flags)) return server - first;
      const tail = tails === null ? none : tails.addressOf(page, words, at);
      if (tails !== null && tail === none) return server - first;
      press.addLine(stamp, tail);
    }
    return end - first;
  }

  private putNext(page: Page, words: Words, next: number): void {
    const { press, tails } = this;
    if (this.family.of === "sandbox") {
      const sandbox = escapeLabelValue(page.sandboxId(next));
      const status = statusIn(page.sandboxFlags(next));
      press.putText(this.linesOf({ sandbox, server: "", status }));
      return;
    }
    const lines = this.linesOf({
      sandbox: escapeLabelValue(page.sandboxId(this.sandbox)),
      server: escapeLabelValue(page.serverId(next)),
      status: statusIn(page.serverFlags(next)),
    });
    press.putText(lines);
    this.server++;
    if (tails === null) return;
    const at = page.serverAt(next);
    const tail = tails.addressOf(page, words, at);
    if (tail === none) press.putText(tails.textOf(page, words, at));
    else press.putTail(tail);
  }

  private layOut(): void {
    const { press, family, tails } = this;
    if (press.isCrowded) {
      press.clear();
      tails?.clear();
    }
    const ids =
      family.of === "sandbox"
        ? { sandbox: ownMark, server: "" }
        : { sandbox: ownerMark, server: ownMark };
    // Where the lines of all statuses are the same, so is the stamp.
    const laidOut = new Map<string, number>();
    this.stamps = statuses.map((status) => {
      const lines = this.linesOf({ ...ids, status });
      const stamp = laidOut.get(lines) ?? press.layOut(lines);
      laidOut.set(lines, stamp);
      return stamp;
    });
  }

  private linesOf(subject: Pick<SubjectText, "sandbox" | "server" | "status">): string {
    const { family, labels } = this;
    return family.lines({ ...subject, name: family.name, labels });
  }
}
