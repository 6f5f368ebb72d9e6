import type { Presence } from "../model.ts";
import { ChangeCursor } from "./change-cursor.ts";
import { ChangePacker } from "./packed-changes.ts";
import type { Lapse, PackedChanges, PlacedFacts } from "./packed-changes.ts";
import { statusNumberIn } from "./page-records.ts";
import type { Page } from "./page.ts";
import type { ServerId } from "./snapshot.ts";
import { SortedSteps, Steps } from "./steps.ts";
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
  /** For whoever goes over all of them: none is made. */
  walk(): ChangeCursor;
  /** All changes, then all lapses, so many at a time. */
  packed(atOnce: number): Iterable<PackedChanges>;
}

export function changesIn(parts: SightingParts): Changes {
  const { sorted, removed, lacked } = parts;
  const length = sorted.changed + removed.length;
  const lapseCount = sorted.seenAgain + lacked.length;
  return {
    length,
    lapseCount,
    walk: () => new ChangeCursor(parts),
    *[Symbol.iterator]() {
      const cursor = new ChangeCursor(parts);
      while (cursor.next()) {
        const { sandboxId, serverId, serverName, from, to, stayMs } = cursor;
        yield { sandboxId, serverId, serverName, from, to, stayMs };
      }
    },
    *packed(atOnce) {
      const cursor = new ChangeCursor(parts);
      const lapses = eachLapse(parts);
      for (let left = length + lapseCount; left > 0; left -= atOnce) {
        const packer = new ChangePacker(Math.min(atOnce, left));
        packer.addAll(cursor);
        while (!packer.isFull) {
          const lapse = lapses.next();
          if (lapse.done) break;
          packer.addFrom(lapse.value);
        }
        yield packer.finish();
      }
    },
  };
}

export const noChanges: Changes = changesIn({
  before: [],
  after: [],
  touched: new Steps(),
  sorted: SortedSteps.none,
  removed: new Steps(),
  lacked: new Steps(),
  observedMs: 0,
  witnessed: false,
});

function* eachLapse(parts: SightingParts): Generator<PlacedFacts, void> {
  const { before, after, touched, sorted, lacked } = parts;
  for (let step = 0; step < lacked.length; step++) {
    const page = before[lacked.pageAfter(step)];
    if (page) yield lapseOf(page, lacked.serverAfter(step), "missing");
  }
  if (sorted.seenAgain === 0) return;
  for (let step = 0; step < touched.length; step++) {
    const page = after[touched.pageAfter(step)];
    if (page && sorted.isSeenAgain(step)) yield lapseOf(page, touched.serverAfter(step), "seen");
  }
}

function lapseOf(page: Page, server: number, lapse: Lapse): PlacedFacts {
  const status = statusNumberIn(page.serverFlags(server));
  const sandbox = page.sandboxOfServer(server);
  return { page, server, sandbox, fromNumber: status, toNumber: status, stayMs: null, lapse };
}
