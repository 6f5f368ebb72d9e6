import type { InSteps } from "../in-steps.ts";
import type { Presence } from "../model.ts";
import { missingIn, statusIn, statusNumberIn } from "./page-records.ts";
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

/** The kind of each step, so that nobody asks the pages for it once more. */
export interface SortedSteps {
  readonly kinds: Uint8Array;
  readonly changed: number;
  /** Servers that complete listings lacked, and that have the status that they had before. */
  readonly seenAgain: number;
}

/** As many are sorted in about a millisecond. */
const sortedAtOnce = 8_192;

/** In short steps. */
export function* sortSteps(
  { before, after }: Pick<SightingParts, "before" | "after">,
  touched: Steps,
): InSteps<SortedSteps> {
  const sorted = { kinds: new Uint8Array(touched.length), changed: 0, seenAgain: 0 };
  for (let step = 0; step < touched.length; step++) {
    const known = before[touched.pageBefore(step)];
    const flags = after[touched.pageAfter(step)]?.serverFlags(touched.serverAfter(step)) ?? 0;
    const kind = known
      ? kindOf(flags, known.serverFlags(touched.serverBefore(step)))
      : kinds.changed;
    sorted.kinds[step] = kind;
    if (kind === kinds.seenAgain) sorted.seenAgain++;
    else if (kind !== kinds.none) sorted.changed++;
    if (step % sortedAtOnce === sortedAtOnce - 1) yield;
  }
  return sorted;
}

function kindOf(flags: number, flagsBefore: number): number {
  const wasMissing = missingIn(flagsBefore) > 0;
  if (statusNumberIn(flags) === statusNumberIn(flagsBefore)) {
    return wasMissing ? kinds.seenAgain : kinds.none;
  }
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

export function isChange({ sorted }: SightingParts, step: number): boolean {
  const kind = sorted.kinds[step];
  return kind === kinds.changed || kind === kinds.changedUnseen;
}

/** Whether it was listed by the last listing too: else it may have changed long before it was seen. */
export function wasSeen({ sorted }: SightingParts, step: number): boolean {
  return sorted.kinds[step] !== kinds.changedUnseen;
}

/** Whether complete listings lacked a server that has the status that it had before. */
export function isSeenAgain({ sorted }: SightingParts, step: number): boolean {
  return sorted.kinds[step] === kinds.seenAgain;
}

export function presenceBefore({ before, touched }: SightingParts, step: number): Presence {
  const known = before[touched.pageBefore(step)];
  return known ? statusIn(known.serverFlags(touched.serverBefore(step))) : "absent";
}
