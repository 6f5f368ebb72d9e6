import type { ListedSandbox, Status } from "./model.ts";

/**
 * Which statuses of its text a steady hash leaves open: none of them, or all that are not `unknown`. These
 * stand in the order of the servers, and the sandbox's own one before or after them.
 */
export type OpenStatuses = "none" | "own_first" | "own_last";

/** By what the text of a sandbox is known again without reading it. */
export interface TextMark {
  /** In bytes. */
  readonly length: number;
  /** 64 bits over all of the text. */
  readonly hash: bigint;
  /** The same over the text without what often changes; 0 where that is not known. */
  readonly steadyHash: bigint;
  readonly openStatuses: OpenStatuses;
  /** What the reader wants to remember of it: a number below 65,536. */
  readonly note: number;
}

/** By what a whole body is known again without looking at any sandbox of it. */
export interface BodyMark {
  /** In bytes. */
  readonly length: number;
  /** 64 bits over all of it. */
  readonly hash: bigint;
}

/** Words that tell of a text that is expected: its length in bytes, and its hash, the lower half first. */
export const wordsOfExpected = 3;

/** Takes a listing in while it is read, sandbox by sandbox, in the order of the listing. */
export interface ListingIntake {
  /** The body that the listing taken last came in; null when this one must be read. */
  readonly knownBody: BodyMark | null;
  /** The very same body came once more: this listing is as that one was. Instead of all else. */
  sameBody(): void;
  /** After all of a listing: it came in this body, complete and without anything to remark. */
  cameIn(body: BodyMark): void;
  /**
   * Writes by what the texts of the sandboxes expected next are known, in their order.
   *
   * @returns of how many: of none from one on that must be read, or of which there is anything to remark
   */
  expectedTexts(into: Uint32Array): number;
  /** So many came with these texts, one after another. Only right after `expectedTexts`. */
  sameTexts(count: number): void;
  /** The text that the sandbox expected next had last time; null when it must be read. */
  expected(): TextMark | null;
  /**
   * The expected sandbox came with the same text. Only right after `expected` gave a mark.
   *
   * @param mark where the text is another, though it says the same
   * @param statuses where it says the same but for these, in its order
   */
  same(mark?: TextMark, statuses?: readonly Status[]): void;
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
   * @returns null, or of a sandbox that this listing held already, how many of the servers it held too
   */
  listed(sandbox: ListedSandbox, mark: TextMark | null): { readonly servers: number } | null;
  /** All that was taken so far is void. */
  restart(): void;
  /** Distinct sandboxes taken so far. */
  readonly sandboxCount: number;
}
