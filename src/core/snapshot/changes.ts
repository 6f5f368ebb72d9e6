import type { Presence } from "../model.ts";
import { ChangePacker } from "./packed-changes.ts";
import type { Lapse, PackedChanges } from "./packed-changes.ts";
import { missingIn, statusIn } from "./page.ts";
import type { Page } from "./page.ts";
import type { ServerId } from "./snapshot.ts";
import { isChange, isSeenAgain, presenceBefore } from "./steps.ts";
import type { SightingParts } from "./steps.ts";

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
  /** How many servers lapsed beside: see `Lapse`. */
  readonly lapseCount: number;
  /** All changes, then all lapses, so many at a time. */
  packed(atOnce: number): Iterable<PackedChanges>;
}

export const noChanges: Changes = {
  length: 0,
  lapseCount: 0,
  packed: () => [],
  [Symbol.iterator]: () => [].values(),
};

export function changesIn(parts: SightingParts): Changes {
  const { sorted, removed, lacked } = parts;
  const length = sorted.changed + removed.length;
  const lapseCount = sorted.seenAgain + lacked.length;
  return {
    length,
    lapseCount,
    [Symbol.iterator]: () => eachChange(parts),
    *packed(atOnce) {
      let left = length + lapseCount;
      let packer: ChangePacker | null = null;
      for (const happened of [eachChange(parts), eachLapse(parts)]) {
        for (const each of happened) {
          packer ??= new ChangePacker(Math.min(atOnce, left));
          packer.addFrom(each.page, each.server, each);
          if (!packer.isFull) continue;
          yield packer.finish();
          left -= atOnce;
          packer = null;
        }
      }
    },
  };
}

function* eachChange(parts: SightingParts): Generator<PackedChange, void> {
  const { before, after, touched, removed } = parts;
  for (let step = 0; step < touched.length; step++) {
    const page = after[touched.pageAfter(step)];
    if (!page || !isChange(parts, step)) continue;
    const server = touched.serverAfter(step);
    const known = before[touched.pageBefore(step)];
    const to = statusIn(page.serverFlags(server));
    const stayMs = known ? stayUntilNow(parts, known, touched.serverBefore(step)) : null;
    yield new PackedChange(page, server, presenceBefore(parts, step), to, stayMs, null);
  }
  for (let step = 0; step < removed.length; step++) {
    const page = before[removed.pageAfter(step)];
    if (!page) continue;
    const server = removed.serverAfter(step);
    const from = statusIn(page.serverFlags(server));
    yield new PackedChange(page, server, from, "absent", stayUntilNow(parts, page, server), null);
  }
}

function* eachLapse(parts: SightingParts): Generator<PackedChange, void> {
  const { before, after, touched, sorted, lacked } = parts;
  for (let step = 0; step < lacked.length; step++) {
    const page = before[lacked.pageAfter(step)];
    if (page) yield lapseOf(page, lacked.serverAfter(step), "missing");
  }
  if (sorted.seenAgain === 0) return;
  for (let step = 0; step < touched.length; step++) {
    const page = after[touched.pageAfter(step)];
    if (page && isSeenAgain(parts, step)) yield lapseOf(page, touched.serverAfter(step), "seen");
  }
}

function lapseOf(page: Page, server: number, lapse: Lapse): PackedChange {
  const status = statusIn(page.serverFlags(server));
  return new PackedChange(page, server, status, status, null, lapse);
}

/** Only the first listing that lacks or changes it can tell when it did. */
function stayUntilNow(parts: SightingParts, page: Page, server: number): number | null {
  return parts.witnessed && missingIn(page.serverFlags(server)) === 0 && page.isWitnessed(server)
    ? parts.observedMs - page.sinceObservedMs(server)
    : null;
}

/** Ids are unpacked where they are asked for: whoever only counts does without. */
class PackedChange implements Change {
  readonly page: Page;
  readonly server: number;
  readonly from: Presence;
  readonly to: Presence;
  readonly stayMs: number | null;
  readonly lapse: Lapse | null;

  constructor(
    page: Page,
    server: number,
    from: Presence,
    to: Presence,
    stayMs: number | null,
    lapse: Lapse | null,
  ) {
    this.page = page;
    this.server = server;
    this.from = from;
    this.to = to;
    this.stayMs = stayMs;
    this.lapse = lapse;
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
