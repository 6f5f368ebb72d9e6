import type { MarkWords } from "../text-mark.ts";
import type { PackedSnapshot, SandboxPlace } from "./packed-snapshot.ts";
import { remark } from "./marks.ts";
import { PageCopy } from "./page-copy.ts";
import { PagePatch } from "./page-patch.ts";
import type { PageSequence } from "./page-sequence.ts";
import type { Page } from "./page.ts";

/** A page of whose sandboxes more than one in this came with other statuses. */
const busyShare = 4;

/**
 * The way over a snapshot's pages, in their order. A page of which nothing differs is taken over as it is,
 * one of which few statuses do with a patch, one of which many do as a copy; any other one is written anew.
 */
export class PageWalk {
  pageIndex = 0;
  /** The sandbox that is expected next. */
  sandbox = 0;
  /** While nothing but statuses of the page differs up to there, it is not written anew. */
  private clean = true;
  /** Whether the page before had too much in it that differs: then the next one is likely to. */
  private isBusy = false;
  /** Whether the page before was written anew: then a copy of the next one is likely to be made for nothing. */
  private isLeft = false;
  private restated = 0;
  /** Of the page at hand, as long as it is not written anew. */
  private readonly patch = new PagePatch();
  /** The same, in place of the patch. */
  private copy: PageCopy | null = null;
  private readonly before: PackedSnapshot;
  private readonly sequence: PageSequence;

  constructor(before: PackedSnapshot, sequence: PageSequence) {
    this.before = before;
    this.sequence = sequence;
    this.arrive();
  }

  /** Undefined after the last one. */
  get page(): Page | undefined {
    return this.before.pages[this.pageIndex];
  }

  get isClean(): boolean {
    return this.clean;
  }

  /** Of the sandbox expected next, counted over all pages. */
  get ordinal(): number {
    return (this.before.pageStarts[this.pageIndex] ?? 0) + this.sandbox;
  }

  placeIn(page: Page): SandboxPlace {
    return { page, pageIndex: this.pageIndex, sandbox: this.sandbox };
  }

  /** Where a sandbox of other statuses goes, in its place; null where the page is written anew. */
  beginRestated(page: Page): PagePatch | PageCopy | null {
    this.restated++;
    if (!this.clean) return null;
    if (this.copy) return this.copy;
    if (!this.isBusy && this.patch.hasRoomFor(page, this.sandbox)) return this.patch;
    if (!this.isLeft) return (this.copy = new PageCopy(page, this.patch));
    this.leaveClean();
    return null;
  }

  /** The sandbox expected next came with another text that says the same. */
  remark(page: Page, mark: MarkWords | null): void {
    if (this.copy) this.copy.setMark(this.sandbox, mark);
    else remark(page, this.sandbox, mark);
  }

  /** After the last sandbox of a page. */
  nextPage(page: Page): void {
    if (this.clean) this.sequence.takeOver(this.finish(page));
    this.isBusy = this.restated * busyShare > page.sandboxCount;
    this.isLeft = !this.clean;
    this.restated = 0;
    this.pageIndex++;
    this.arrive();
    this.sandbox = 0;
    const next = this.page;
    if (!this.clean) this.sequence.endReplaced(next);
    this.clean = this.sequence.draftIsEmpty;
    if (next && !this.clean) this.sequence.replace(next);
  }

  /** From now on the page is written anew. */
  leaveClean(): void {
    const { page } = this;
    if (!this.clean) return;
    this.clean = false;
    if (!page) return;
    const soFar = this.finish(page);
    this.sequence.replace(page);
    for (let sandbox = 0; sandbox < this.sandbox; sandbox++) {
      this.sequence.draft.copyWhole(soFar, sandbox);
    }
  }

  /** Passes over those up to a sandbox further on. */
  skipTo({ page, pageIndex, sandbox }: SandboxPlace): void {
    if (pageIndex !== this.pageIndex) {
      this.sequence.endReplaced(page);
      this.sequence.replace(page);
    }
    this.pageIndex = pageIndex;
    this.arrive();
    this.sandbox = sandbox;
  }

  /**
   * A page whose next version was given up has the room again: page by page, as that takes a while where
   * many were copied.
   */
  private arrive(): void {
    this.page?.held.settle();
  }

  /** The page as it is by now. */
  private finish(page: Page): Page {
    const { copy } = this;
    this.copy = null;
    return copy ? copy.finish() : this.patch.finish(page);
  }
}
