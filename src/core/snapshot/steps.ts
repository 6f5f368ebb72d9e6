import type { Presence } from "../model.ts";
import { statusIn, statusNumberIn } from "./page.ts";
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

export interface SightingParts {
  readonly before: readonly Page[];
  readonly after: readonly Page[];
  readonly touched: Steps;
  /** Places before alone. */
  readonly removed: Steps;
  /** Of servers that a complete listing was the first one to lack, and that are not gone. */
  readonly lacked: Steps;
  readonly observedMs: number;
  readonly witnessed: boolean;
}

export function isChange({ before, after, touched }: SightingParts, step: number): boolean {
  const known = before[touched.pageBefore(step)];
  if (!known) return true;
  const flags = after[touched.pageAfter(step)]?.serverFlags(touched.serverAfter(step)) ?? 0;
  return statusNumberIn(flags) !== statusNumberIn(known.serverFlags(touched.serverBefore(step)));
}

export function presenceBefore({ before, touched }: SightingParts, step: number): Presence {
  const known = before[touched.pageBefore(step)];
  return known ? statusIn(known.serverFlags(touched.serverBefore(step))) : "absent";
}
