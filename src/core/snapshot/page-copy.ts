import type { MarkWords } from "../text-mark.ts";
import { markAt, putMark } from "./marks.ts";
import type { PagePatch } from "./page-patch.ts";
import { sandboxField, sandboxWords, serverField, setStatus } from "./page-records.ts";
import { Page } from "./page.ts";
import type { Words } from "./page-room.ts";
import type { PageWords } from "./page-words.ts";

/**
 * A page in whose place it is, with all where it was: of so many sandboxes statuses differ that a patch would
 * not be less.
 */
export class PageCopy {
  private readonly page: Page;
  private readonly copy: PageWords;
  private readonly words: Words;

  /** @param patch what of it is others so far; it is empty afterwards */
  constructor(page: Page, patch: PagePatch) {
    this.page = page;
    this.copy = page.held.copied();
    this.words = this.copy.room;
    patch.moveInto(this.words);
  }

  setMark(sandbox: number, mark: MarkWords | null): void {
    putMark(this.words, markAt(this.page, sandbox), mark);
  }

  /** @returns the first one of its servers */
  restate(page: Page, sandbox: number, status: number, mark: MarkWords | null): number {
    setStatus(this.words, sandbox * sandboxWords + sandboxField.flags, status);
    this.setMark(sandbox, mark);
    return page.serversBegin(sandbox);
  }

  /** Since when it has it is not known before the listing's end. */
  restateServer(server: number, status: number): void {
    setStatus(this.words, this.page.serverAt(server) + serverField.flags, status);
  }

  /** To be called once. */
  finish(): Page {
    const { id, sandboxCount, legend } = this.page;
    return new Page(id, sandboxCount, this.copy, legend);
  }
}
