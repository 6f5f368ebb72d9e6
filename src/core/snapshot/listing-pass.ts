import type { InSteps } from "../in-steps.ts";
import type { CameTexts } from "../listing-intake.ts";
import type { ListedSandbox } from "../model.ts";
import { markField, markWords, openIn, writeMark } from "../text-mark.ts";
import type { MarkWords, TextMark } from "../text-mark.ts";
import { GivenStatuses } from "./given-statuses.ts";
import { IdTable, isIdAt, SoughtId } from "./id-table.ts";
import { copyMarks, isTurnOf, markOf, putMark } from "./marks.ts";
import type { PackedSnapshot, SandboxIndex, SandboxPlace } from "./packed-snapshot.ts";
import type { PageRoom } from "./page-room.ts";
import { PageSequence } from "./page-sequence.ts";
import { PageWalk } from "./page-walk.ts";
import { sandboxWords } from "./page-records.ts";
import type { Page } from "./page.ts";
import { SandboxTable } from "./sandbox-table.ts";
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
  /** Of the sandbox at hand. */
  private readonly mark: MarkWords = new Uint32Array(markWords);
  /** By ordinal before: which page it was written to, counted from 1; 0 while it was not seen. */
  private readonly placed: Uint32Array;
  private startedIds: IdTable | null = null;
  private nextIds: SandboxTable | null = null;
  private startedTexts: TextIndex | null = null;
  private readonly newPlaced: number[] = [];
  private readonly walk: PageWalk;
  private taken = 0;

  constructor(before: PackedSnapshot, options: PassOptions) {
    this.before = before;
    this.turn = options.turn;
    this.placed = new Uint32Array(before.sandboxCount);
    options.room.begin(before.wordCount);
    this.sequence = new PageSequence(before.nextPageId, options.room);
    this.walk = new PageWalk(before, this.sequence);
    this.writer = new SandboxWriter(before, this.sequence, options);
  }

  /** Of no more than are in one page. */
  expectedTexts(into: Uint32Array, most: number): number {
    const page = this.settle();
    const { turn, walk } = this;
    if (!page || turn === "of_all") return 0;
    const begin = walk.sandbox;
    const end = Math.min(page.sandboxCount, begin + most);
    const known = copyMarks(page, { begin, end }, turn, into);
    let count = 0;
    while (count < known && this.placed[walk.ordinal + count] === 0) count++;
    return count;
  }

  takeTexts(count: number, { marks, given, statuses }: CameTexts): void {
    const { page, sandbox } = this.walk;
    if (!page || sandbox + count > page.sandboxCount) throw new RangeError("fewer are expected");
    this.given.begin(statuses);
    for (let taken = 0; taken < count; taken++) {
      const givenAndOne = given[taken] ?? 0;
      if (givenAndOne === 0) this.takeUnchanged(page);
      else {
        putMark(this.mark, 0, marks, taken * markWords);
        this.takeOther(page, givenAndOne - 1);
      }
    }
  }

  /** Takes a sandbox that came with a text that another place had, unless it came before. */
  moved(length: number, hash: bigint): TextMark | null {
    // Where it was expected it may be the very one, and then is not looked for.
    const page = this.settle();
    if (page && this.mustRead(page, this.walk.sandbox)) return null;
    const ordinal = this.texts.find(length, hash);
    if (ordinal < 0 || this.placed[ordinal] !== 0) return null;
    const place = this.before.placeOf(ordinal);
    if (this.mustRead(place.page, place.sandbox)) return null;
    if (this.leaveOrder(ordinal, place)) this.takeUnchanged(place.page);
    else this.copyMoved(ordinal, place);
    return markOf(place.page, place.sandbox);
  }

  /** The page that holds it already, counted from 0, of a sandbox that came before; else null. */
  listed(sandbox: ListedSandbox, textMark: TextMark | null): number | null {
    const id = this.id.set(sandbox.sandboxId);
    const { mark } = this;
    writeMark(mark, 0, textMark);
    const page = this.settle();
    const { sandbox: next } = this.walk;
    if (page && isIdAt(page, next * sandboxWords, page.sandboxFlags(next), id)) {
      this.takeExpected(page, sandbox, mark);
      return null;
    }
    const ordinal = this.before.ordinalOf(id);
    if (ordinal >= 0) return this.takeMoved(ordinal, sandbox, mark);
    const twin = this.newIds.find(id);
    if (twin >= 0) return this.newPlaced[twin] ?? null;
    this.newIds.add(id);
    this.isMoved = true;
    this.walk.leaveClean();
    this.newPlaced.push(this.sequence.pages.length);
    this.sandboxCount++;
    this.writer.write(sandbox, null, mark);
    return null;
  }

  /** The page that a sandbox was written to; the last one may not be whole yet. */
  pageSoFar(index: number): Page {
    this.walk.leaveClean();
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
    this.nextIds = yield* SandboxTable.of(this.sequence.pages);
  }

  /** Ends what is written of the listing, so that all of it is in the sequence's pages. */
  endListed(): void {
    this.walk.leaveClean();
    this.sequence.endPage();
  }

  /** Writes what the listing lacked, after all that it held. */
  *endUnlisted(): InSteps<void> {
    this.settle();
    if (this.taken < this.before.sandboxCount) {
      this.walk.leaveClean();
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

  private mustRead(page: Page, sandbox: number): boolean {
    const { turn } = this;
    return turn === "of_all" || (turn !== null && isTurnOf(page, sandbox, turn));
  }

  /** One that came with another text, which says the same but for the statuses that it gives. */
  private takeOther(page: Page, given: number): void {
    const { mark } = this;
    const { sandbox } = this.walk;
    const open = openIn(mark[markField.note] ?? 0);
    const found = this.given.next(page, sandbox, open, given);
    if (open === "none" || found.isOf(page, sandbox)) this.takeUnchanged(page, mark);
    else this.takeRestated(page, mark);
  }

  /** One that differs from what was known in the statuses alone that were given last. */
  private takeRestated(page: Page, mark: MarkWords | null): void {
    const { walk, sequence } = this;
    const inPlace = walk.beginRestated(page);
    this.note(walk.ordinal);
    const written = inPlace ?? sequence.draft;
    this.writer.writeRestated(walk.placeIn(page), this.given, mark, written);
    if (!inPlace) sequence.endSandbox();
    walk.sandbox++;
  }

  private get newIds(): IdTable {
    return (this.startedIds ??= new IdTable());
  }

  private get texts(): TextIndex {
    return (this.startedTexts ??= new TextIndex(this.before));
  }

  private takeExpected(page: Page, sandbox: ListedSandbox, mark: MarkWords | null): void {
    const { walk } = this;
    if (!this.writer.isAlike(page, walk.sandbox, sandbox)) {
      walk.leaveClean();
      this.note(walk.ordinal);
      this.writer.write(sandbox, walk.placeIn(page), mark);
      walk.sandbox++;
    } else if (this.given.setListed(sandbox).isOf(page, walk.sandbox)) {
      this.takeUnchanged(page, mark);
    } else this.takeRestated(page, mark);
  }

  private takeMoved(
    ordinal: number,
    sandbox: ListedSandbox,
    mark: MarkWords | null,
  ): number | null {
    const placed = this.placed[ordinal] ?? 0;
    if (placed > 0) return placed - 1;
    const place = this.before.placeOf(ordinal);
    if (this.leaveOrder(ordinal, place)) this.takeExpected(place.page, sandbox, mark);
    else if (this.isSame(place, sandbox)) {
      this.copyMoved(ordinal, place, mark);
    } else {
      this.note(ordinal);
      this.writer.write(sandbox, place, mark);
    }
    return null;
  }

  /** Whether a sandbox is listed just as it was known. */
  private isSame({ page, sandbox }: SandboxPlace, listed: ListedSandbox): boolean {
    return (
      this.writer.isAlike(page, sandbox, listed) && this.given.setListed(listed).isOf(page, sandbox)
    );
  }

  /** Whether those before the sandbox are passed over, so that it is the one expected now. */
  private leaveOrder(ordinal: number, place: SandboxPlace): boolean {
    this.isMoved = true;
    this.walk.leaveClean();
    const ahead = ordinal - this.walk.ordinal;
    if (ahead <= 0 || ahead > longestSkip) return false;
    this.walk.skipTo(place);
    return true;
  }

  private copyMoved(ordinal: number, place: SandboxPlace, mark?: MarkWords | null): void {
    this.note(ordinal);
    this.copyWhole(place.page, place.sandbox, mark);
  }

  /** @param mark where the text is another, though it says the same */
  private copyWhole(page: Page, sandbox: number, mark?: MarkWords | null): void {
    this.sequence.draft.copyWhole(page, sandbox, mark);
    this.sequence.endSandbox();
  }

  /** @param mark where the text is another, though it says the same */
  private takeUnchanged(page: Page, mark?: MarkWords | null): void {
    const { walk } = this;
    this.note(walk.ordinal);
    if (!walk.isClean) this.copyWhole(page, walk.sandbox, mark);
    else if (mark !== undefined) walk.remark(page, mark);
    walk.sandbox++;
  }

  /** Goes to the next sandbox that was not seen yet. Null at the end. */
  private settle(): Page | null {
    const { walk } = this;
    for (;;) {
      const { page } = walk;
      if (!page) return null;
      if (walk.sandbox === page.sandboxCount) walk.nextPage(page);
      else if (this.placed[walk.ordinal] === 0) return page;
      else {
        walk.leaveClean();
        walk.sandbox++;
      }
    }
  }

  private note(ordinal: number): void {
    this.placed[ordinal] = this.sequence.pages.length + 1;
    this.taken++;
    this.sandboxCount++;
  }
}
