import type { Target } from "../../fleet/model.ts";
import type { Bucket } from "../../fleet/buckets.ts";
import { addDwells, countDwells, noDwells, dwellQuantileMs } from "../../fleet/dwell.ts";
import type { DwellHistogram } from "../../fleet/dwell.ts";

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
  dwells: DwellHistogram;
}

/** What buckets of an hour hold by name, added up. */
export function createNameSums() {
  const sums = new Map<string, NameSum>();
  const sumOf = ({ region, key }: Target, serverName: string): NameSum => {
    const id = JSON.stringify([region, key, serverName]);
    let sum = sums.get(id);
    if (!sum) {
      const nothing = { exhaustedMs: 0, hours: 0, dwells: noDwells };
      sums.set(id, (sum = { region, key, serverName, ...nothing }));
    }
    return sum;
  };
  return {
    add(target: Target, { names }: Pick<Bucket, "names">): void {
      for (const [name, { exhaustedMs, dwells }] of names) {
        if (exhaustedMs === 0 && dwells === noDwells) continue;
        const sum = sumOf(target, name);
        sum.exhaustedMs += exhaustedMs;
        sum.hours += exhaustedMs > 0 ? 1 : 0;
        sum.dwells = addDwells(sum.dwells, dwells);
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
      const byName = new Map<string, DwellHistogram>();
      for (const { serverName, dwells } of sums.values()) {
        byName.set(serverName, addDwells(byName.get(serverName) ?? noDwells, dwells));
      }
      return (serverName) => {
        const stays = byName.get(serverName) ?? noDwells;
        return countDwells(stays) < fewestDwells ? null : dwellQuantileMs(stays, 0.95);
      };
    },
  };
}

/** Of fewer stays nobody knows what is usual. */
const fewestDwells = 20;
