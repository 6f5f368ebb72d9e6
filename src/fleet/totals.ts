import type { Bucket, NameAccount } from "./buckets.ts";
import { addDwells, noDwells } from "./dwell.ts";
import type { DwellHistogram } from "./dwell.ts";
import { addTimes, countByStatus, noneByStatus } from "./tallies.ts";
import type { CountByStatus } from "./tallies.ts";

/** Time of servers, whatever their names. */
export interface ServerTimes {
  /** Milliseconds of servers. */
  readonly ms: CountByStatus;
  readonly unobservedMs: number;
  /** Dwell times in `occupied` that ended. */
  readonly dwells: DwellHistogram;
}

export const noServerTimes: ServerTimes = { ms: noneByStatus, unobservedMs: 0, dwells: noDwells };

/** A bucket with the servers of all names added up. */
export interface BucketTotal extends Pick<Bucket, "startMs" | "recordedMs" | "unobservedMs"> {
  readonly servers: ServerTimes;
  /** The most that were occupied at a time; null: none of it was observed. */
  readonly mostOccupied: number | null;
}

export function addServerTimes(
  some: ServerTimes,
  more: Pick<NameAccount, "ms" | "unobservedMs" | "dwells">,
): ServerTimes {
  return {
    ms: addTimes(some.ms, more.ms, 1),
    unobservedMs: some.unobservedMs + more.unobservedMs,
    dwells: addDwells(some.dwells, more.dwells),
  };
}

export function totalOfBucket({ names, extent, ...times }: Bucket): BucketTotal {
  return {
    startMs: times.startMs,
    recordedMs: times.recordedMs,
    unobservedMs: times.unobservedMs,
    servers: names.values().reduce(addServerTimes, noServerTimes),
    mostOccupied: extent && extent.most.occupied,
  };
}

/** All time recorded of servers: in whatever status, and unobserved. Milliseconds of servers. */
export function serverMsOf({ ms, unobservedMs }: Pick<ServerTimes, "ms" | "unobservedMs">): number {
  return countByStatus(ms) + unobservedMs;
}
