import { statuses } from "../core/model.ts";
import type { Presence } from "../core/model.ts";

export const presences: readonly Presence[] = [...statuses, "absent"];

export interface TransitionCount {
  readonly name: string;
  readonly from: Presence;
  readonly to: Presence;
  readonly count: number;
}

/** Adds transitions up: a first listing has one for each server, and a counter's increment is dear. */
export class TransitionCounts {
  /** Of a name: a count for each `from` and, within it, for each `to`. */
  private readonly countsOf = new Map<string, Uint32Array>();

  add(name: string, from: Presence, to: Presence): void {
    let counts = this.countsOf.get(name);
    if (!counts) {
      counts = new Uint32Array(presences.length ** 2);
      this.countsOf.set(name, counts);
    }
    const at = presences.indexOf(from) * presences.length + presences.indexOf(to);
    counts[at] = (counts[at] ?? 0) + 1;
  }

  /** Those that there are. */
  *[Symbol.iterator](): Iterator<TransitionCount> {
    for (const [name, counts] of this.countsOf) {
      for (const [row, from] of presences.entries()) {
        for (const [column, to] of presences.entries()) {
          const count = counts[row * presences.length + column] ?? 0;
          if (count > 0) yield { name, from, to, count };
        }
      }
    }
  }
}
