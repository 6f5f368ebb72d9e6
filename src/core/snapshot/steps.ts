import type { InSteps } from "../in-steps.ts";
import { presences } from "../model.ts";
import { missingIn, packSince, statusNumberIn } from "./page-records.ts";
import type { PackedSince, Since } from "./page-records.ts";
import type { Page } from "./page.ts";
import { withRoom } from "./with-room.ts";

/** What became of one server, packed: places in the pages before and after. */
export class Steps {
  /** Four a step: page and server after, page (counted from 1, 0: none) and server before. */
  private words = new Uint32Array(0);
  private count = 0;

  get length(): number {
    return this.count;
  }

  add(page: number, server: number, pageBefore: number | null, serverBefore: number): void {
    const at = this.count * 4;
    this.words = withRoom(this.words, at + 4);
    this.words[at] = page;
    this.words[at + 1] = server;
    this.words[at + 2] = pageBefore === null ? 0 : pageBefore + 1;
    this.words[at + 3] = serverBefore;
    this.count++;
  }

  /** Counts in the pages after; of a removed one in those before. */
  pageAfter(step: number): number {
    return this.words[step * 4] ?? 0;
  }

  serverAfter(step: number): number {
    return this.words[step * 4 + 1] ?? 0;
  }

  /** Negative for one that is new. */
  pageBefore(step: number): number {
    return (this.words[step * 4 + 2] ?? 0) - 1;
  }

  serverBefore(step: number): number {
    return this.words[step * 4 + 3] ?? 0;
  }
}

/** What a step of a server that was listed otherwise than it was known came to, beside that. */
const kinds = { none: 0, changed: 1, changedUnseen: 2, seenAgain: 3 } as const;
/** Of a step's facts: bits 0-1 its kind, 2-4 what the server was before, 5-7 its status after. */
const kindMask = 0b11;
const fromShift = 2;
const toShift = 5;
const presenceMask = 0b111;
const absent = presences.indexOf("absent");

/** As many are sorted in about a millisecond. */
const sortedAtOnce = 4_096;

type Pages = Pick<SightingParts, "before" | "after">;

interface Settled {
  readonly began: PackedSince;
  /** Where the server was missing before. */
  readonly unseen: PackedSince;
}

/** What is to be known of each step, so that nobody asks the pages for it once more. */
export class SortedSteps {
  changed = 0;
  /** Servers that complete listings lacked, and that have the status that they had before. */
  seenAgain = 0;
  private readonly facts: Uint8Array;

  private constructor(count: number) {
    this.facts = new Uint8Array(count);
  }

  static readonly none = new SortedSteps(0);

  /**
   * In short steps. What is a change is settled: the status began with the listing.
   *
   * @param began witnessed where the server was listed by the last listing too
   */
  static *of(touched: Steps, pages: Pages, began: Since): InSteps<SortedSteps> {
    const sorted = new SortedSteps(touched.length);
    const settled: Settled = {
      began: packSince(began),
      unseen: packSince({ ...began, sinceWitnessed: false }),
    };
    for (let first = 0; first < touched.length; first += sortedAtOnce) {
      if (first > 0) yield;
      sorted.sortSome(touched, first, pages, settled);
    }
    return sorted;
  }

  isChange(step: number): boolean {
    const kind = this.factsOf(step) & kindMask;
    return kind === kinds.changed || kind === kinds.changedUnseen;
  }

  /** Whether complete listings lacked a server that has the status that it had before. */
  isSeenAgain(step: number): boolean {
    return (this.factsOf(step) & kindMask) === kinds.seenAgain;
  }

  /** What the server was before, and is now: both count in `presences`. */
  fromNumber(step: number): number {
    return (this.factsOf(step) >>> fromShift) & presenceMask;
  }

  toNumber(step: number): number {
    return this.factsOf(step) >>> toShift;
  }

  private factsOf(step: number): number {
    return this.facts[step] ?? 0;
  }

  /** Apart from the steps: a loop within a generator is compiled anew for each poll. */
  private sortSome(
    touched: Steps,
    first: number,
    { before, after }: Pages,
    { began, unseen }: Settled,
  ): void {
    const end = Math.min(touched.length, first + sortedAtOnce);
    for (let step = first; step < end; step++) {
      const page = after[touched.pageAfter(step)];
      if (!page) continue;
      const server = touched.serverAfter(step);
      const to = statusNumberIn(page.serverFlags(server));
      const pageBefore = before[touched.pageBefore(step)];
      const serverBefore = touched.serverBefore(step);
      const flags = pageBefore?.serverFlags(serverBefore);
      const from = flags === undefined ? absent : statusNumberIn(flags);
      const kind = kindOf(from, to, flags !== undefined && missingIn(flags) > 0);
      this.facts[step] = kind | (from << fromShift) | (to << toShift);
      if (kind === kinds.seenAgain) this.seenAgain++;
      else if (kind !== kinds.none) {
        this.changed++;
        page.settleSince(server, kind === kinds.changed ? began : unseen);
      }
    }
  }
}

function kindOf(from: number, to: number, wasMissing: boolean): number {
  if (from === to) return wasMissing ? kinds.seenAgain : kinds.none;
  return wasMissing ? kinds.changedUnseen : kinds.changed;
}

export interface SightingParts {
  readonly before: readonly Page[];
  readonly after: readonly Page[];
  readonly touched: Steps;
  /** The touched ones. */
  readonly sorted: SortedSteps;
  /** Places before alone. */
  readonly removed: Steps;
  /** Of servers that a complete listing was the first one to lack, and that are not gone. */
  readonly lacked: Steps;
  readonly observedMs: number;
  readonly witnessed: boolean;
}
