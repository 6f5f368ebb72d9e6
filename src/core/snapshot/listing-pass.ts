import type { InSteps } from "../in-steps.ts";
import type { TextMark } from "../listing-intake.ts";
import type { ListedSandbox, Status } from "../model.ts";
import { GivenStatuses } from "./given-statuses.ts";
import { IdTable, isIdAt, SoughtId } from "./id-table.ts";
import type { Marks } from "./marks.ts";
import type { PackedSnapshot, SandboxIndex, SandboxPlace } from "./packed-snapshot.ts";
import type { PageRoom } from "./page-room.ts";
import { PageSequence } from "./page-sequence.ts";
import { sandboxWords } from "./page.ts";
import type { Page } from "./page.ts";
import { SandboxWriter } from "./sandbox-writer.ts";
import { TextIndex } from "./text-index.ts";

/** A sandbox that was skipped is looked for this far ahead: past that it was moved. */
const longestSkip = 4_096;

/** Sandboxes that a listing lacked are written this many at a time. */
const unlistedAtOnce = 64;

export interface PassOptions {
  /** Complete listings without a server before it counts as gone. */
  readonly goneAfter: number;
  /** Whether what the listing lacks is missing. */
  readonly complete: boolean;
  /** Counts polls: the texts whose turn it is must be read. Null: only those that are not known. */
  readonly turn: number | "of_all" | null;
  /** Where new pages go. */
  readonly room: PageRoom;
}

/**
 * Walks over a snapshot along a listing, and writes the next one. As long as the sandboxes come in
 * the order that they had, a page of which nothing changed is taken over as it is.
 */
export class ListingPass {
  readonly sequence: PageSequence;
  readonly writer: SandboxWriter;
  sandboxCount = 0;
  /** Whether a sandbox is not where it was. */
  private isMoved = false;
  private readonly before: PackedSnapshot;
  private readonly turn: PassOptions["turn"];
  private readonly id = new SoughtId();
  private readonly given = new GivenStatuses();
  /** By ordinal before: which page it was written to, counted from 1; 0 while it was not seen. */
  private readonly placed: Uint32Array;
  private startedIds: IdTable | null = null;
  private nextIds: IdTable | null = null;
  private startedTexts: TextIndex | null = null;
  private readonly newPlaced: number[] = [];
  /** The sandbox that is expected next. */
  private pageIndex = 0;
  private sandbox = 0;
  /** While nothing of the page differs up to there, it is not copied. */
  private clean = true;
  private newMarks: Marks | null = null;
  private taken = 0;

  constructor(before: PackedSnapshot, options: PassOptions) {
    this.before = before;
    this.turn = options.turn;
    this.placed = new Uint32Array(before.sandboxCount);
    options.room.begin(before.wordCount);
    this.sequence = new PageSequence(before.nextPageId, options.room);
    this.writer = new SandboxWriter(before, this.sequence, options);
  }

  expected(): TextMark | null {
    return this.settle() && !this.mustRead(this.marksBefore(), this.sandbox)
      ? this.marksBefore().at(this.sandbox)
      : null;
  }

  /**
   * @param mark where the text is another, though it says the same
   * @param statuses where it says the same but for these
   */
  same(mark?: TextMark, statuses?: readonly Status[]): void {
    const page = this.settle();
    if (!page) throw new RangeError("no sandbox is expected");
    if (mark && statuses && this.mustRestate(page, mark, statuses)) this.takeRestated(page, mark);
    else this.takeUnchanged(page, mark);
  }

  /** Takes a sandbox that came with a text that another place had, unless it came before. */
  moved(length: number, hash: bigint): TextMark | null {
    // Where it was expected it may be the very one, and then is not looked for.
    if (this.settle() && this.mustRead(this.marksBefore(), this.sandbox)) return null;
    const ordinal = this.texts.find(length, hash);
    if (ordinal < 0 || this.placed[ordinal] !== 0) return null;
    const place = this.before.placeOf(ordinal);
    if (this.mustRead(this.marksOf(place.pageIndex), place.sandbox)) return null;
    if (this.leaveOrder(ordinal, place)) this.takeUnchanged(place.page);
    else this.copyMoved(ordinal, place);
    return this.marksOf(place.pageIndex).at(place.sandbox);
  }

  /** The page that holds it already, counted from 0, of a sandbox that came before; else null. */
  listed(sandbox: ListedSandbox, mark: TextMark | null): number | null {
    const id = this.id.set(sandbox.sandboxId);
    const page = this.settle();
    if (page && isIdAt(page, this.sandbox * sandboxWords, page.sandboxFlags(this.sandbox), id)) {
      this.takeExpected(page, sandbox, mark);
      return null;
    }
    const ordinal = this.before.ordinalOf(id);
    if (ordinal >= 0) return this.takeMoved(ordinal, sandbox, mark);
    const twin = this.newIds.find(id);
    if (twin >= 0) return this.newPlaced[twin] ?? null;
    this.newIds.add(id);
    this.isMoved = true;
    this.leaveClean();
    this.newPlaced.push(this.sequence.pages.length);
    this.sandboxCount++;
    this.writer.write(sandbox, null, mark);
    return null;
  }

  /** The page that a sandbox was written to; the last one may not be whole yet. */
  pageSoFar(index: number): Page {
    this.leaveClean();
    return this.sequence.pages[index] ?? this.sequence.draft.peek(0);
  }

  /** What the listing lacks proves nothing. Only before anything was missing. */
  becomePartial(): void {
    this.writer.complete = false;
  }

  /** Of the next snapshot, where it is known without making it. */
  get index(): SandboxIndex {
    return this.isMoved ? { table: this.nextIds } : this.before.index;
  }

  /**
   * After the end. Where sandboxes came or moved more are likely to: their ids are found without all
   * being indexed at once in the middle of a listing.
   */
  *indexIds(): InSteps<void> {
    if (!this.isMoved) return;
    if (this.before.sandboxCount > 0 && !this.before.index.table) return;
    // Those of the new ones grew along the listing, and would keep up to twice the room that they need.
    this.nextIds = new IdTable(this.sandboxCount);
    yield* this.nextIds.addPages(this.sequence.pages);
  }

  /** Ends what is written of the listing, so that all of it is in the sequence's pages. */
  endListed(): void {
    this.leaveClean();
    this.sequence.endPage();
  }

  /** Writes what the listing lacked, after all that it held. */
  *endUnlisted(): InSteps<void> {
    this.settle();
    if (this.taken < this.before.sandboxCount) {
      this.leaveClean();
      this.isMoved = true;
      let written = 0;
      for (let ordinal = 0; ordinal < this.placed.length; ordinal++) {
        if (this.placed[ordinal] !== 0) continue;
        this.writer.writeUnlisted(this.before.placeOf(ordinal));
        if (++written % unlistedAtOnce === 0) yield;
      }
    }
    this.sequence.endPage();
  }

  private mustRead(marks: Marks, sandbox: number): boolean {
    const { turn } = this;
    return turn === "of_all" || (turn !== null && marks.isTurnOf(sandbox, turn));
  }

  private mustRestate(page: Page, mark: TextMark, statuses: readonly Status[]): boolean {
    const given = this.given.set(page, this.sandbox, mark.openStatuses, statuses);
    return !given.isOf(page, this.sandbox);
  }

  private takeRestated(page: Page, mark: TextMark): void {
    this.leaveClean();
    this.note(this.ordinal());
    this.writer.writeRestated(this.placeIn(page), this.given, this.marksBefore(), mark);
    this.sandbox++;
  }

  private placeIn(page: Page): SandboxPlace {
    return { page, pageIndex: this.pageIndex, sandbox: this.sandbox };
  }

  private get newIds(): IdTable {
    return (this.startedIds ??= new IdTable());
  }

  private get texts(): TextIndex {
    return (this.startedTexts ??= new TextIndex(this.before));
  }

  private takeExpected(page: Page, sandbox: ListedSandbox, mark: TextMark | null): void {
    if (this.writer.isSame(page, this.sandbox, sandbox)) {
      this.takeUnchanged(page, mark);
      return;
    }
    this.leaveClean();
    this.note(this.ordinal());
    this.writer.write(sandbox, this.placeIn(page), mark);
    this.sandbox++;
  }

  private takeMoved(ordinal: number, sandbox: ListedSandbox, mark: TextMark | null): number | null {
    const placed = this.placed[ordinal] ?? 0;
    if (placed > 0) return placed - 1;
    const place = this.before.placeOf(ordinal);
    if (this.leaveOrder(ordinal, place)) this.takeExpected(place.page, sandbox, mark);
    else if (this.writer.isSame(place.page, place.sandbox, sandbox)) {
      this.copyMoved(ordinal, place, mark);
    } else {
      this.note(ordinal);
      this.writer.write(sandbox, place, mark);
    }
    return null;
  }

  /** Whether those before the sandbox are passed over, so that it is the one expected now. */
  private leaveOrder(ordinal: number, { page, pageIndex, sandbox }: SandboxPlace): boolean {
    this.isMoved = true;
    this.leaveClean();
    const ahead = ordinal - this.ordinal();
    if (ahead <= 0 || ahead > longestSkip) return false;
    if (pageIndex !== this.pageIndex) {
      this.sequence.endReplaced(page);
      this.sequence.replace(page);
    }
    this.pageIndex = pageIndex;
    this.sandbox = sandbox;
    return true;
  }

  private copyMoved(ordinal: number, place: SandboxPlace, mark?: TextMark | null): void {
    this.note(ordinal);
    this.copyWhole(place.page, place.sandbox, this.marksOf(place.pageIndex), mark);
  }

  /** @param mark where the text is another, though it says the same */
  private copyWhole(page: Page, sandbox: number, marks: Marks, mark?: TextMark | null): void {
    this.sequence.draft.copyWhole(page, sandbox, marks);
    if (mark !== undefined) this.sequence.draft.setMark(mark);
    this.sequence.endSandbox();
  }

  /** @param mark where the text is another, though it says the same */
  private takeUnchanged(page: Page, mark?: TextMark | null): void {
    this.note(this.ordinal());
    if (!this.clean) this.copyWhole(page, this.sandbox, this.marksBefore(), mark);
    else if (mark !== undefined) {
      this.newMarks ??= this.marksBefore().first(page.sandboxCount);
      this.newMarks.set(this.sandbox, mark);
    }
    this.sandbox++;
  }

  /** Goes to the next sandbox that was not seen yet. Null at the end. */
  private settle(): Page | null {
    for (;;) {
      const page = this.before.pages[this.pageIndex];
      if (!page) return null;
      if (this.sandbox === page.sandboxCount) this.nextPage(page);
      else if (this.placed[this.ordinal()] === 0) return page;
      else {
        this.leaveClean();
        this.sandbox++;
      }
    }
  }

  private nextPage(page: Page): void {
    if (this.clean) this.sequence.takeOver(page, this.newMarks ?? this.marksBefore());
    const next = this.before.pages[++this.pageIndex];
    if (!this.clean) this.sequence.endReplaced(next);
    this.sandbox = 0;
    this.newMarks = null;
    this.clean = this.sequence.draftIsEmpty;
    if (next && !this.clean) this.sequence.replace(next);
  }

  /** From now on the page is written anew. */
  private leaveClean(): void {
    const page = this.before.pages[this.pageIndex];
    if (!this.clean) return;
    this.clean = false;
    if (!page) return;
    const marks = this.newMarks ?? this.marksBefore();
    this.newMarks = null;
    this.sequence.replace(page);
    for (let sandbox = 0; sandbox < this.sandbox; sandbox++) {
      this.sequence.draft.copyWhole(page, sandbox, marks);
    }
  }

  private note(ordinal: number): void {
    this.placed[ordinal] = this.sequence.pages.length + 1;
    this.taken++;
    this.sandboxCount++;
  }

  private ordinal(): number {
    return (this.before.pageStarts[this.pageIndex] ?? 0) + this.sandbox;
  }

  private marksBefore(): Marks {
    return this.marksOf(this.pageIndex);
  }

  private marksOf(pageIndex: number): Marks {
    const marks = this.before.marks[pageIndex];
    if (!marks) throw new RangeError("every page has its marks");
    return marks;
  }
}
