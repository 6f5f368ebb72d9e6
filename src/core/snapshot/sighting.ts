import type { Presence, Status } from "../model.ts";
import { missingIn, statusIn, statusNumberIn } from "./page.ts";
import type { Page } from "./page.ts";
import type { PackedSnapshot } from "./packed-snapshot.ts";
import type { ServerId, ServerRow } from "./snapshot.ts";
import { withRoom } from "./with-room.ts";

/** A server appeared, changed status, or is gone. */
export interface Change extends ServerId {
  readonly serverName: string | null;
  readonly from: Presence;
  readonly to: Presence;
  /** For how long it was watched in `from`; null unless both ends were witnessed. Milliseconds. */
  readonly stayMs: number | null;
}

/** Changes, each made only when it is asked for: a first listing has one for each server. */
export interface Changes extends Iterable<Change> {
  readonly length: number;
}

export const noChanges: Changes = [];

/** What an accepted listing showed, beside the snapshot that it gives. */
export interface Sighting {
  readonly snapshot: PackedSnapshot;
  readonly changes: Changes;
  /** Servers in these statuses that were listed otherwise than they were known, in any way. */
  touched(statuses: ReadonlySet<Status>): Iterable<Touched>;
  /** All servers in these statuses that were listed. */
  listed(statuses: ReadonlySet<Status>): Iterable<ServerRow>;
  /** Whether the listing held a server. */
  isListed(id: ServerId): boolean;
  /** Whether the listing made a server gone. */
  isRemoved(id: ServerId): boolean;
}

export interface Touched {
  readonly server: ServerRow;
  /** What it was before; null where the status is the same. */
  readonly from: Presence | null;
}

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
  readonly observedMs: number;
  readonly witnessed: boolean;
}

export function* touchedIn(parts: SightingParts, statuses: ReadonlySet<Status>): Iterable<Touched> {
  const { after, touched } = parts;
  for (let step = 0; step < touched.length; step++) {
    const page = after[touched.pageAfter(step)];
    const server = touched.serverAfter(step);
    const status = statusIn(page?.serverFlags(server) ?? 0);
    if (!page || !statuses.has(status)) continue;
    const from = presenceBefore(parts, step);
    yield { server: page.serverRow(server), from: from === status ? null : from };
  }
}

export function changesIn(parts: SightingParts): Changes {
  const { before, after, touched, removed, observedMs, witnessed } = parts;
  let length = removed.length;
  for (let step = 0; step < touched.length; step++) {
    if (isChange(parts, step)) length++;
  }
  // Only the first listing that lacks or changes it can tell when it did.
  const stayUntilNow = (page: Page, server: number): number | null =>
    witnessed && missingIn(page.serverFlags(server)) === 0 && page.isWitnessed(server)
      ? observedMs - page.sinceObservedMs(server)
      : null;
  return {
    length,
    *[Symbol.iterator]() {
      for (let step = 0; step < touched.length; step++) {
        const page = after[touched.pageAfter(step)];
        if (!page || !isChange(parts, step)) continue;
        const server = touched.serverAfter(step);
        const known = before[touched.pageBefore(step)];
        const to = statusIn(page.serverFlags(server));
        const stayMs = known ? stayUntilNow(known, touched.serverBefore(step)) : null;
        yield new PackedChange(page, server, presenceBefore(parts, step), to, stayMs);
      }
      for (let step = 0; step < removed.length; step++) {
        const page = before[removed.pageAfter(step)];
        if (!page) continue;
        const server = removed.serverAfter(step);
        const from = statusIn(page.serverFlags(server));
        yield new PackedChange(page, server, from, "absent", stayUntilNow(page, server));
      }
    },
  };
}

/** When a status began is only known at the listing's end. */
export function settleChanged(parts: SightingParts, atMs: number): void {
  const { before, after, touched, observedMs, witnessed } = parts;
  for (let step = 0; step < touched.length; step++) {
    if (!isChange(parts, step)) continue;
    const known = before[touched.pageBefore(step)];
    // A server that was missing meanwhile may have changed long before it was seen again.
    const wasListed = !known || missingIn(known.serverFlags(touched.serverBefore(step))) === 0;
    after[touched.pageAfter(step)]?.settleSince(
      touched.serverAfter(step),
      atMs,
      observedMs,
      witnessed && wasListed,
    );
  }
}

function isChange({ before, after, touched }: SightingParts, step: number): boolean {
  const known = before[touched.pageBefore(step)];
  if (!known) return true;
  const flags = after[touched.pageAfter(step)]?.serverFlags(touched.serverAfter(step)) ?? 0;
  return statusNumberIn(flags) !== statusNumberIn(known.serverFlags(touched.serverBefore(step)));
}

function presenceBefore({ before, touched }: SightingParts, step: number): Presence {
  const known = before[touched.pageBefore(step)];
  return known ? statusIn(known.serverFlags(touched.serverBefore(step))) : "absent";
}

/** Ids are unpacked where they are asked for: whoever only counts does without. */
class PackedChange implements Change {
  readonly from: Presence;
  readonly to: Presence;
  readonly stayMs: number | null;
  private readonly page: Page;
  private readonly server: number;

  constructor(page: Page, server: number, from: Presence, to: Presence, stayMs: number | null) {
    this.page = page;
    this.server = server;
    this.from = from;
    this.to = to;
    this.stayMs = stayMs;
  }

  get sandboxId(): string {
    return this.page.sandboxId(this.page.sandboxOfServer(this.server));
  }

  get serverId(): string {
    return this.page.serverId(this.server);
  }

  get serverName(): string | null {
    return this.page.serverName(this.server);
  }
}
