import { statuses } from "../model.ts";
import type { Status } from "../model.ts";
import { noneByStatus } from "../snapshot/tallies.ts";
import type { CountByStatus } from "../snapshot/tallies.ts";
import { addStays, noStays } from "./stay-sketch.ts";
import type { StaySketch } from "./stay-sketch.ts";

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

/** The least and the most servers there were in each status at a time, while it was watched. */
export interface Extent {
  readonly least: CountByStatus;
  readonly most: CountByStatus;
}

/** What is booked of the servers of one name. Milliseconds of servers: two for a second make 2,000. */
export interface NameAccount {
  readonly ms: CountByStatus;
  readonly unobservedMs: number;
  /** Over all of the bucket that was watched, whether there were any or not; null: none of it was. */
  readonly extent: Extent | null;
  /** For how long there were servers, watched, but none of them idle. Of time, not of servers. */
  readonly exhaustedMs: number;
  /** The stays that ended, by the status that they were in; only those watched from end to end. */
  readonly stays: Readonly<Record<Status, StaySketch>>;
}

/** What is booked of a target for a stretch of the calendar. */
export interface Bucket {
  /** UTC milliseconds. */
  readonly startMs: number;
  /** Of the target, not of its servers: all that was booked, and what of it nobody watched. */
  readonly bookedMs: number;
  readonly unobservedMs: number;
  /** Of all its servers, whatever their names. */
  readonly extent: Extent | null;
  readonly names: ReadonlyMap<string, NameAccount>;
}

export function emptyBucket(startMs: number): Bucket {
  return { startMs, bookedMs: 0, unobservedMs: 0, extent: null, names: new Map() };
}

export const emptyAccount: NameAccount = {
  ms: noneByStatus(),
  unobservedMs: 0,
  extent: null,
  exhaustedMs: 0,
  stays: { idle: noStays, occupied: noStays, error: noStays, unknown: noStays },
};

export const noneThroughout: Extent = { least: noneByStatus(), most: noneByStatus() };

/** While a bucket was watched there were no servers of a name of which it holds nothing. */
export function accountIn({ names, extent }: Bucket, name: string): NameAccount {
  return names.get(name) ?? (extent ? { ...emptyAccount, extent: noneThroughout } : emptyAccount);
}

/** Adds what a finer bucket, or the same one of another target, holds. */
export function addBucket(to: Bucket, from: Bucket): Bucket {
  const names = new Map<string, NameAccount>();
  for (const name of [...to.names.keys(), ...from.names.keys()]) {
    names.set(name, addAccount(accountIn(to, name), accountIn(from, name)));
  }
  return addBucketAs(names, to, from);
}

/** The same where the accounts that it comes to are known. */
export function addBucketAs(names: Bucket["names"], to: Bucket, from: Bucket): Bucket {
  return {
    startMs: to.startMs,
    bookedMs: to.bookedMs + from.bookedMs,
    unobservedMs: to.unobservedMs + from.unobservedMs,
    extent: widen(to.extent, from.extent),
    names,
  };
}

/**
 * The finer buckets of one that passed without being watched: they were not written, but are all
 * alike. Of any other bucket there are none but those that were written.
 *
 * Whether any was written is for the caller to tell: where the clock was set back, the times of one
 * that was not passed as a whole can come to the same.
 */
export function* finerOfUnseen(bucket: Bucket, from: Resolution, to: Resolution): Iterable<Bucket> {
  const { startMs, unobservedMs, names } = bucket;
  if (unobservedMs !== resolutionMs[from] || bucket.bookedMs !== unobservedMs) return;
  const parts = resolutionMs[from] / resolutionMs[to];
  // Some that were written, and are kept no more, may differ.
  if (names.values().some((account) => account.unobservedMs % parts !== 0)) return;
  const shareOf = (account: NameAccount): NameAccount => ({
    ...account,
    unobservedMs: account.unobservedMs / parts,
  });
  const shares = new Map(names.entries().map(([name, account]) => [name, shareOf(account)]));
  for (let part = 0; part < parts; part++) {
    const partMs = resolutionMs[to];
    yield {
      startMs: startMs + part * partMs,
      bookedMs: partMs,
      unobservedMs: partMs,
      extent: null,
      names: shares,
    };
  }
}

/** Of the same servers at another time. */
function addAccount(some: NameAccount, more: NameAccount): NameAccount {
  if (some === emptyAccount) return more;
  return {
    ms: addTimes(some.ms, more.ms, 1),
    unobservedMs: some.unobservedMs + more.unobservedMs,
    extent: widen(some.extent, more.extent),
    exhaustedMs: some.exhaustedMs + more.exhaustedMs,
    stays:
      more.stays === emptyAccount.stays
        ? some.stays
        : byStatus((status) => addStays(some.stays[status], more.stays[status])),
  };
}

/** The same one where it is as wide as that: most often it is. */
export function widen(some: Extent | null, more: Extent | null): Extent | null {
  if (!some || !more || some === more) return some ?? more;
  const { least, most } = some;
  return isWithin(least, more.least) && isWithin(more.most, most)
    ? some
    : { least: chosen(Math.min, least, more.least), most: chosen(Math.max, most, more.most) };
}

function isWithin(few: CountByStatus, many: CountByStatus): boolean {
  return (
    few.idle <= many.idle &&
    few.occupied <= many.occupied &&
    few.error <= many.error &&
    few.unknown <= many.unknown
  );
}

function chosen(
  choose: (one: number, other: number) => number,
  one: CountByStatus,
  other: CountByStatus,
): CountByStatus {
  return byStatus((status) => choose(one[status], other[status]));
}

/** Adds the time of so many servers, each so many milliseconds. */
export function addTimes(to: CountByStatus, counts: CountByStatus, ms: number): CountByStatus {
  return {
    idle: to.idle + counts.idle * ms,
    occupied: to.occupied + counts.occupied * ms,
    error: to.error + counts.error * ms,
    unknown: to.unknown + counts.unknown * ms,
  };
}

export function byStatus<T>(valueOf: (status: Status) => T): Record<Status, T> {
  return {
    idle: valueOf("idle"),
    occupied: valueOf("occupied"),
    error: valueOf("error"),
    unknown: valueOf("unknown"),
  };
}

/** All that is booked of the servers: watched, in whatever status, and not watched. */
export function serverMsOf({ ms, unobservedMs }: Pick<NameAccount, "ms" | "unobservedMs">): number {
  return statuses.reduce((sum, status) => sum + ms[status], unobservedMs);
}
