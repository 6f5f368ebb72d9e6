import { presences, statuses } from "./model.ts";
import type { EndedStays } from "./occupancy/accounts.ts";
import { byStatus } from "./occupancy/bucket.ts";
import { GrowingSketch, noStays } from "./occupancy/stay-sketch.ts";
import type { StaySketch } from "./occupancy/stay-sketch.ts";
import { Runs } from "./runs.ts";
import type { PackedChanges } from "./snapshot/packed-changes.ts";
import type { Tallies } from "./snapshot/tallies.ts";

type ShownNames = Pick<Tallies, "aggregateName">;

/** What is counted of a change. Presences by their numbers. */
export interface CountedChange {
  readonly fromNumber: number;
  readonly toNumber: number;
  /** Milliseconds. */
  readonly stayMs: number | null;
}

/** What the changes of one poll come to. */
export interface ChangeCounts {
  /** Of each name, as aggregates show it, a count for each `from` and, within it, for each `to`. */
  readonly transitions: ReadonlyMap<string, Uint32Array>;
  /** Of each status how many stays in it took how many milliseconds. */
  readonly stays: readonly ReadonlyMap<number, number>[];
  readonly endedStays: EndedStays;
}

export const noCounts: ChangeCounts = { transitions: new Map(), stays: [], endedStays: new Map() };

export interface CountsOfName {
  readonly transitions: Uint32Array;
  /** By the number of the status. */
  readonly stays: (GrowingSketch | undefined)[];
}

/** Counts the changes of one poll, for all who need numbers of them: there may be a million. */
export class CountedChanges {
  private readonly byName = new Map<string, CountsOfName>();
  private readonly stays = statuses.map(countRuns);
  private readonly names: ShownNames;

  /** @param names those that aggregates show */
  constructor(names: ShownNames) {
    this.names = names;
  }

  /** The first ones of a piece, so many. */
  addFirst(piece: PackedChanges, count: number): void {
    const byName: (CountsOfName | undefined)[] = [];
    for (let change = 0; change < count; change++) {
      const counts = (byName[piece.nameNumber(change)] ??= this.countsOf(piece.serverName(change)));
      this.add(counts, {
        fromNumber: piece.fromNumber(change),
        toNumber: piece.toNumber(change),
        stayMs: piece.stayMs(change),
      });
    }
  }

  /** Where changes of servers of the name are counted from now on. */
  countsOf(serverName: string | null): CountsOfName {
    // A name that aggregates show is shown as itself.
    const known = this.byName.get(serverName ?? "");
    if (known) return known;
    const name = this.names.aggregateName(serverName);
    let counts = this.byName.get(name);
    if (!counts) {
      counts = { transitions: new Uint32Array(presences.length ** 2), stays: [] };
      this.byName.set(name, counts);
    }
    return counts;
  }

  /** @param counts of the server's name */
  add({ transitions, stays }: CountsOfName, change: CountedChange): void {
    const { fromNumber, toNumber, stayMs } = change;
    const transition = fromNumber * presences.length + toNumber;
    transitions[transition] = (transitions[transition] ?? 0) + 1;
    // Those that were absent are behind the statuses.
    if (stayMs === null || fromNumber >= statuses.length) return;
    (stays[fromNumber] ??= new GrowingSketch()).add(stayMs);
    this.stays[fromNumber]?.runs.add(stayMs);
  }

  finish(): ChangeCounts {
    const transitions = new Map<string, Uint32Array>();
    const endedStays = new Map<string, ReturnType<typeof sketchesOf>>();
    for (const [name, counts] of this.byName) {
      transitions.set(name, counts.transitions);
      if (counts.stays.length > 0) endedStays.set(name, sketchesOf(counts.stays));
    }
    for (const { runs } of this.stays) runs.end();
    return { transitions, stays: this.stays.map(({ counts }) => counts), endedStays };
  }
}

/** How often which number comes. */
function countRuns(): { readonly runs: Runs; readonly counts: ReadonlyMap<number, number> } {
  const counts = new Map<number, number>();
  const runs = new Runs((value, count) => counts.set(value, (counts.get(value) ?? 0) + count));
  return { runs, counts };
}

function sketchesOf(stays: CountsOfName["stays"]) {
  return byStatus((status): StaySketch => stays[statuses.indexOf(status)]?.toSketch() ?? noStays);
}
