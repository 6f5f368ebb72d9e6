import { addDwells, noDwells } from "./dwell.ts";
import type { DwellHistogram } from "./dwell.ts";
import { statuses } from "./status.ts";
import { addTimes, byStatus, countByStatus, noneByStatus } from "./tallies.ts";
import type { CountByStatus } from "./tallies.ts";

/** From the finest to the coarsest; each is a whole number of the one before, and begins in UTC. */
export const resolutions = ["5m", "1h", "1d"] as const;
export type Resolution = (typeof resolutions)[number];

export const resolutionMs: Readonly<Record<Resolution, number>> = {
  "5m": 5 * 60_000,
  "1h": 60 * 60_000,
  "1d": 24 * 60 * 60_000,
};

/** The start of the bucket that holds a moment. UTC milliseconds. */
export function bucketStart(resolution: Resolution, atMs: number): number {
  return Math.floor(atMs / resolutionMs[resolution]) * resolutionMs[resolution];
}

/** The resolutions that are coarser, the finest of them first. */
export function coarserThan(resolution: Resolution): readonly Resolution[] {
  return resolutions.slice(resolutions.indexOf(resolution) + 1);
}

/** The least and the most servers in each status at a time, while it was observed. */
export interface Extent {
  readonly least: CountByStatus;
  readonly most: CountByStatus;
}

/** What is recorded of the servers of one name. Milliseconds of servers: two servers for a second are 2,000. */
export interface NameAccount {
  readonly ms: CountByStatus;
  readonly unobservedMs: number;
  /** Over all of the bucket that was observed, whether there were servers or not; null: none of it was observed. */
  readonly extent: Extent | null;
  /** For how long there were servers, observed, but none of them idle. Of time, not of servers. */
  readonly exhaustedMs: number;
  /** Dwell times in `occupied` that ended, of servers observed from their begin to their end. */
  readonly dwells: DwellHistogram;
}

/** What is recorded of a target for a stretch of the calendar. */
export interface Bucket {
  /** UTC milliseconds. */
  readonly startMs: number;
  /** Of the target, not of its servers: all that was recorded, and how much of it was unobserved. */
  readonly recordedMs: number;
  readonly unobservedMs: number;
  /** Of all its servers, whatever their names. */
  readonly extent: Extent | null;
  readonly names: ReadonlyMap<string, NameAccount>;
}

export function emptyBucket(startMs: number): Bucket {
  return { startMs, recordedMs: 0, unobservedMs: 0, extent: null, names: new Map() };
}

/** Whether a bucket is empty: opened with a finer one, or at the moment of a poll. */
export function isEmptyBucket({ recordedMs, names }: Bucket): boolean {
  return recordedMs === 0 && names.size === 0;
}

export const emptyAccount: NameAccount = {
  ms: noneByStatus,
  unobservedMs: 0,
  extent: null,
  exhaustedMs: 0,
  dwells: noDwells,
};

export const noneThroughout: Extent = { least: noneByStatus, most: noneByStatus };

/** While a bucket was observed there were no servers of a name of which it holds nothing. */
export function accountIn({ names, extent }: Bucket, name: string): NameAccount {
  return names.get(name) ?? (extent ? { ...emptyAccount, extent: noneThroughout } : emptyAccount);
}

/** Adds what a finer bucket, or the same one of another target, holds. */
export function addBucket(to: Bucket, from: Bucket): Bucket {
  const all = new Set([...to.names.keys(), ...from.names.keys()]);
  const names = new Map(
    Array.from(all, (name) => [name, addAccount(accountIn(to, name), accountIn(from, name))]),
  );
  return {
    startMs: to.startMs,
    recordedMs: to.recordedMs + from.recordedMs,
    unobservedMs: to.unobservedMs + from.unobservedMs,
    extent: widen(to.extent, from.extent),
    names,
  };
}

/** The bucket with one account of all servers, under the empty name, without how long names were exhausted. */
export function mergeNames(bucket: Bucket): Bucket {
  const { extent } = bucket;
  const all = bucket.names.values().reduce(addAccount, emptyAccount);
  return { ...bucket, names: new Map([["", { ...all, extent, exhaustedMs: 0 }]]) };
}

/** All time recorded of servers, observed or not. Milliseconds of servers. */
export function serverMsOf({ ms, unobservedMs }: Pick<NameAccount, "ms" | "unobservedMs">): number {
  return countByStatus(ms) + unobservedMs;
}

/**
 * A coarser bucket that passed unobserved as a whole stands for its finer ones, which were not written and are all
 * alike. Gives one of them without its start; null where this bucket does not stand for others.
 */
export function partOfUnobserved(
  { recordedMs, unobservedMs, names }: Bucket,
  from: Resolution,
  to: Resolution,
): Omit<Bucket, "startMs"> | null {
  if (unobservedMs !== resolutionMs[from] || recordedMs !== unobservedMs) return null;
  const parts = resolutionMs[from] / resolutionMs[to];
  const shares = new Map<string, NameAccount>();
  for (const [name, account] of names) {
    if (account.unobservedMs % parts !== 0) return null;
    shares.set(name, { ...account, unobservedMs: account.unobservedMs / parts });
  }
  const partMs = resolutionMs[to];
  return { recordedMs: partMs, unobservedMs: partMs, extent: null, names: shares };
}

export function addAccount(some: NameAccount, more: NameAccount): NameAccount {
  if (some === emptyAccount) return more;
  return {
    ms: addTimes(some.ms, more.ms, 1),
    unobservedMs: some.unobservedMs + more.unobservedMs,
    extent: widen(some.extent, more.extent),
    exhaustedMs: some.exhaustedMs + more.exhaustedMs,
    dwells: addDwells(some.dwells, more.dwells),
  };
}

/** Gives the first one where it is as wide as the other: most often it is. */
export function widen(some: Extent | null, more: Extent | null): Extent | null {
  if (!some || !more || some === more) return some ?? more;
  return isWithin(some.least, more.least) && isWithin(more.most, some.most)
    ? some
    : {
        least: byStatus((status) => Math.min(some.least[status], more.least[status])),
        most: byStatus((status) => Math.max(some.most[status], more.most[status])),
      };
}

function isWithin(few: CountByStatus, many: CountByStatus): boolean {
  return statuses.every((status) => few[status] <= many[status]);
}
