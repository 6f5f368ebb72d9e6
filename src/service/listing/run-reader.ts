import type { Buffer } from "node:buffer";
import type { ExpectedRun, ListingIntake, SpanMark } from "../../core/listing-intake.ts";
import type { ListingContent } from "./listing-content.ts";
import type { TextHash } from "./text-hash.ts";

/** Of what reads items of a listing. */
export interface ReadingDeps {
  readonly intake: ListingIntake;
  readonly content: ListingContent;
  readonly hash: TextHash;
}

/** So much of a body is held back at most, in bytes, until it is sure whether it came before. */
const longestRun = 256 * 1024;

/** What a run may come in that is read item by item. */
interface Candidate {
  readonly mark: SpanMark;
  /** In the body. */
  readonly endOffset: number;
}

/**
 * Knows a run of items again by all that it comes in, from the first byte to the last. One that is not known
 * is read item by item, and known the next time where these came as expected, and nothing else between them.
 */
export class RunReader {
  /** How many bytes are wanted before the next look at the run. */
  wanted = 0;
  private readonly intake: ListingIntake;
  private readonly content: ListingContent;
  private readonly hash: TextHash;
  /** That begins with the item at hand; null: not asked for. */
  private run: ExpectedRun | null = null;
  /** As many are read one by one before the next run begins. */
  private itemsLeft = 0;
  /** How many bytes were between two items. */
  private gap = 1;
  private candidate: Candidate | null = null;

  constructor({ intake, content, hash }: ReadingDeps) {
    this.intake = intake;
    this.content = content;
    this.hash = hash;
  }

  /** So many bytes are between the item before and the one at hand. */
  sawGap(bytes: number): void {
    this.gap = bytes;
  }

  /**
   * Takes the run that begins at `start` where it is the one expected.
   *
   * @param bytes end where what came so far ends, or the body when `isLast`
   * @param offset of `start` in the body
   * @returns where it ends; 0 where the item must be read; -1 while there is too little to tell
   */
  read(bytes: Buffer, start: number, isLast: boolean, offset: number): number {
    if (this.itemsLeft > 0) return 0;
    const run = (this.run ??= this.intake.expectedRun());
    const length = run ? this.lengthOf(run) : 0;
    const end = start + length;
    if (!run || length === 0 || (end > bytes.length && isLast)) return this.leave(run);
    if (end > bytes.length) {
      this.wanted = length;
      return -1;
    }
    const hash = this.hash.of(bytes.subarray(start, end));
    if (run.mark?.hash === hash) {
      this.leave(null);
      this.content.sameRun(run.sandboxes);
      return end;
    }
    this.candidate = { mark: { length, hash }, endOffset: offset + length };
    return this.leave(run);
  }

  /**
   * An item, or a known run, ended.
   *
   * @param offset of its end in the body
   */
  ended(offset: number): void {
    if (--this.itemsLeft > 0 || !this.candidate) return;
    const { mark, endOffset } = this.candidate;
    this.candidate = null;
    this.intake.runCameIn(offset === endOffset ? mark : null);
  }

  /** 0 for a run that is not to be known as a whole. */
  private lengthOf({ mark, textBytes, sandboxes }: ExpectedRun): number {
    const gaps = this.gap * (sandboxes - 1);
    const length = mark?.length ?? (textBytes === null ? 0 : textBytes + gaps);
    return length <= longestRun ? length : 0;
  }

  /** What comes next is one item, or those of the run one by one. */
  private leave(run: ExpectedRun | null): 0 {
    this.run = null;
    this.itemsLeft = run?.sandboxes ?? 1;
    return 0;
  }
}
