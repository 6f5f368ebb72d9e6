import { PageDraft } from "./page-draft.ts";
import type { PageRoom } from "./page-room.ts";
import type { Page } from "./page.ts";

/** Fewer would cost memory for each page, more would cost writing for each change. */
const fullPage = { sandboxes: 96, servers: 192 };
/** A smaller page takes in what follows it, where that leaves one page. */
const smallPage = { sandboxes: 24, servers: 48 };

/** Pages in the order in which they are written: whole ones taken over, and new ones. */
export class PageSequence {
  readonly pages: Page[] = [];
  private readonly room: PageRoom;
  private started: PageDraft | null = null;
  private nextId: number;
  private idToKeep: number | null = null;

  constructor(nextPageId: number, room: PageRoom) {
    this.nextId = nextPageId;
    this.room = room;
  }

  get nextPageId(): number {
    return this.nextId;
  }

  /** Made when it is first written to: most polls write nothing. */
  get draft(): PageDraft {
    return (this.started ??= new PageDraft());
  }

  get draftIsEmpty(): boolean {
    return this.started === null || this.started.sandboxCount === 0;
  }

  takeOver(page: Page): void {
    this.pages.push(page);
  }

  /** The next page that is written takes the place of this one. */
  replace(page: Page): void {
    this.idToKeep = page.id;
  }

  /** After a sandbox was written whole. */
  endSandbox(): void {
    const { sandboxCount, serverCount } = this.draft;
    if (sandboxCount >= fullPage.sandboxes || serverCount >= fullPage.servers) this.endPage();
  }

  /**
   * Where a page that is replaced ends. A small rest is joined with the next page, unless some of that
   * were left over in turn: then one sandbox more would write every page after it anew.
   */
  endReplaced(next: Page | undefined): void {
    if (this.draftIsEmpty) return;
    const { sandboxCount, serverCount } = this.draft;
    const isSmall = sandboxCount < smallPage.sandboxes && serverCount < smallPage.servers;
    const isJoined =
      next &&
      sandboxCount + next.sandboxCount <= fullPage.sandboxes &&
      serverCount + next.serverCount <= fullPage.servers;
    if (!isSmall || !isJoined) this.endPage();
  }

  endPage(): void {
    if (this.draftIsEmpty) return;
    const id = this.idToKeep ?? this.nextId++;
    this.idToKeep = null;
    this.takeOver(this.draft.finish(id, (count) => this.room.take(count)));
  }
}
