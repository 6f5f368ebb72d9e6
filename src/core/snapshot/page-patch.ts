import { markWords } from "../text-mark.ts";
import type { MarkWords } from "../text-mark.ts";
import { markAt } from "./marks.ts";
import {
  sandboxField,
  sandboxWords,
  serverField,
  sinceFields,
  withStatus,
} from "./page-records.ts";
import type { Words } from "./page-room.ts";
import type { Page } from "./page.ts";
import { PatchLog } from "./page-words.ts";

/** A page of which more words differ is copied. */
const largestShare = 8;
/** Whoever reads a word looks for it in the patch first. */
const mostEntries = 512;
const mostServers = 64;

/** In entries, of which each has 8 bytes: a longer log would be copied often while it grows. */
const fullLog = 8_192;

/** What of a page is others than it was, while sandboxes alone come with other statuses. */
export class PagePatch {
  private log = new PatchLog();
  /** Of the page at hand, apart: each in the order of its places, and so all of them one after another. */
  private readonly sandboxes = new PatchLog();
  private readonly servers = new PatchLog();
  private readonly marks = new PatchLog();
  private readonly parts = [this.sandboxes, this.servers, this.marks];
  private page: Page | null = null;

  get isEmpty(): boolean {
    return this.sandboxes.length === 0;
  }

  /** Whether there is room for what may differ of one more sandbox: else the page is copied. */
  hasRoomFor(page: Page, sandbox: number): boolean {
    const entries = this.sandboxes.length + this.servers.length + this.marks.length;
    const servers = page.serversEnd(sandbox) - page.serversBegin(sandbox);
    return (
      servers <= mostServers && entries <= mostEntries && entries * largestShare <= page.held.length
    );
  }

  /**
   * All of its mark's words are noted, also those that are the same: later marks of the page are written
   * where they are shared by all of its versions.
   *
   * @returns the first one of its servers
   */
  restate(page: Page, sandbox: number, status: number, mark: MarkWords | null): number {
    this.page = page;
    const flagsAt = sandbox * sandboxWords + sandboxField.flags;
    this.sandboxes.add(flagsAt, withStatus(page.sandboxFlags(sandbox), status));
    const at = markAt(page, sandbox);
    for (let word = 0; word < markWords; word++) this.marks.add(at + word, mark?.[word] ?? 0);
    return page.serversBegin(sandbox);
  }

  /** Since when it has it is not known before the listing's end. */
  restateServer(server: number, status: number): void {
    const { page } = this;
    if (!page) return;
    const at = page.serverAt(server);
    for (const field of sinceFields) {
      const word = page.word(at + field);
      this.servers.add(at + field, field === serverField.flags ? withStatus(word, status) : word);
    }
  }

  /** What is noted is written to the page's words. What is noted from here on is of another one. */
  moveInto(words: Words): void {
    for (const part of this.parts) {
      part.writeTo(words);
      part.clear();
    }
    this.page = null;
  }

  /** The page as it is by now. What is noted from here on is of another one. */
  finish(page: Page): Page {
    if (this.isEmpty) return page;
    const { log } = this;
    const begin = log.length;
    for (const part of this.parts) {
      log.addAll(part);
      part.clear();
    }
    const end = log.length;
    if (end > fullLog) this.log = new PatchLog();
    this.page = null;
    return page.patched({ log, begin, end });
  }
}
