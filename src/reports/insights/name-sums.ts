import type { Target } from "../../core/model.ts";
import { emptyAccount } from "../../core/occupancy/bucket.ts";
import type { Bucket } from "../../core/occupancy/bucket.ts";
import { addStays, countStays, noStays, stayQuantileMs } from "../../core/occupancy/stay-sketch.ts";
import type { StaySketch } from "../../core/occupancy/stay-sketch.ts";

/** A name whose servers were all in use. */
export interface ExhaustedName extends Target {
  readonly serverName: string;
  /** For how long it was watched and no server of the name was idle. */
  readonly exhaustedMs: number;
  /** In how many hours of the calendar that happened. */
  readonly hours: number;
}

interface NameSum extends ExhaustedName {
  exhaustedMs: number;
  hours: number;
  occupiedStays: StaySketch;
}

/** What buckets of an hour hold by name, added up. */
export function createNameSums() {
  const sums = new Map<string, NameSum>();
  const sumOf = ({ region, key }: Target, serverName: string): NameSum => {
    const id = JSON.stringify([region, key, serverName]);
    let sum = sums.get(id);
    if (!sum) {
      const nothing = { exhaustedMs: 0, hours: 0, occupiedStays: noStays };
      sums.set(id, (sum = { region, key, serverName, ...nothing }));
    }
    return sum;
  };
  return {
    add(target: Target, { names }: Pick<Bucket, "names">): void {
      for (const [name, { exhaustedMs, stays }] of names) {
        if (exhaustedMs === 0 && stays.occupied === emptyAccount.stays.occupied) continue;
        const sum = sumOf(target, name);
        sum.exhaustedMs += exhaustedMs;
        sum.hours += exhaustedMs > 0 ? 1 : 0;
        sum.occupiedStays = addStays(sum.occupiedStays, stays.occupied);
      }
    },
    /** Those that ran out for the longest first. */
    exhausted(limit: number): readonly ExhaustedName[] {
      return [...sums.values()]
        .filter(({ exhaustedMs }) => exhaustedMs > 0)
        .toSorted((one, other) => other.exhaustedMs - one.exhaustedMs)
        .slice(0, limit)
        .map(({ region, key, serverName, exhaustedMs, hours }) => ({
          region,
          key,
          serverName,
          exhaustedMs,
          hours,
        }));
    },
    /**
     * What is long for servers of a name, whatever their target: 95 of 100 stays were shorter. Null: too
     * few are known.
     */
    usualMaximumOf(): (serverName: string) => number | null {
      const byName = new Map<string, StaySketch>();
      for (const { serverName, occupiedStays } of sums.values()) {
        byName.set(serverName, addStays(byName.get(serverName) ?? noStays, occupiedStays));
      }
      return (serverName) => {
        const stays = byName.get(serverName) ?? noStays;
        return countStays(stays) < fewestStays ? null : stayQuantileMs(stays, 0.95);
      };
    },
  };
}

/** Of fewer stays nobody knows what is usual. */
const fewestStays = 20;
