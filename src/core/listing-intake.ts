import type { ListedSandbox } from "./model.ts";
import type { TextMark } from "./text-mark.ts";

/** By what a whole body is known again without looking at any sandbox of it. */
export interface BodyMark {
  /** In bytes. */
  readonly length: number;
  /** 64 bits over all of it. */
  readonly hash: bigint;
}

/** Of the texts that were expected: as what they came. */
export interface CameTexts {
  /** Their marks, one after another: of a text that is another one than was expected, that of its own. */
  readonly marks: Uint32Array;
  /** Of each: 0 where it is the very one that was expected, else one more than the statuses it is given here. */
  readonly given: Uint32Array;
  /** The known statuses that the other texts have, by number, those of one behind those of the one before it. */
  readonly statuses: Uint8Array;
}

/** Of a sandbox that came more than once. */
export interface TwinCount {
  /** How many of its servers the listing held already. */
  readonly servers: number;
  /** How many different ones it came with, all its times together. */
  readonly together: number;
}

/** Takes a listing in while it is read, sandbox by sandbox, in the order of the listing. */
export interface ListingIntake {
  /** The body that the listing taken last came in; null when this one must be read. */
  readonly knownBody: BodyMark | null;
  /** The very same body came once more: this listing is as that one was. Instead of all else. */
  sameBody(): void;
  /** After all of a listing: it came in this body, complete and without anything to remark. */
  cameIn(body: BodyMark): void;
  /**
   * Writes the marks of the sandboxes expected next, in their order.
   *
   * @param most of so many, for which there is room
   * @returns of how many: of none from one on that must be read
   */
  expectedTexts(into: Uint32Array, most: number): number;
  /**
   * So many came one after another, with texts that say what they said before, but for the statuses that
   * their marks leave open. Only right after `expectedTexts`.
   */
  takeTexts(count: number, texts: CameTexts): void;
  /**
   * A sandbox came with a text that is not the one expected. Where the text is known it is taken, and
   * need not be read.
   *
   * @returns its mark; null when it must be read
   */
  moved(length: number, hash: bigint): TextMark | null;
  /**
   * A sandbox that was read. Without a mark it must be read again next time.
   *
   * @returns null, or what there is to tell of a sandbox that this listing held already
   */
  listed(sandbox: ListedSandbox, mark: TextMark | null): TwinCount | null;
  /** All that was taken so far is void. */
  restart(): void;
  /** Distinct sandboxes taken so far. */
  readonly sandboxCount: number;
}
