import type { Status } from "../model.ts";
import { countByStatus } from "../snapshot/tallies.ts";
import type { CountByStatus } from "../snapshot/tallies.ts";
import type { Booking } from "./booking.ts";
import {
  accountIn,
  addBucket,
  addBucketAs,
  addTimes,
  bucketStart,
  byStatus,
  emptyBucket,
} from "./bucket.ts";
import { noneThroughout, resolutionMs, resolutions, widen } from "./bucket.ts";
import type { Bucket, Extent, Resolution } from "./bucket.ts";
import { addStays } from "./stay-sketch.ts";
import type { StaySketch } from "./stay-sketch.ts";
import { SteadyNames } from "./steady-names.ts";
import type { Begun, Steady } from "./steady-names.ts";

/**
 * A target's buckets that are still being added to, one of each resolution, each within the next. A
 * bucket is added to its coarser one when it is closed: until then that one lacks it. Of the buckets
 * that were written these are the latest.
 */
export type Accounts = Readonly<Record<Resolution, Bucket | null>>;

export const noAccounts: Accounts = { "5m": null, "1h": null, "1d": null };

/** A bucket as it is from now on. */
export interface BucketWrite {
  readonly resolution: Resolution;
  readonly bucket: Bucket;
}

export interface AccountsStep {
  readonly accounts: Accounts;
  /** What the store must write: each bucket once. */
  readonly written: readonly BucketWrite[];
}

/** Of each name, as aggregates show it, the stays that ended with a poll, by the status left. */
export type EndedStays = ReadonlyMap<string, Readonly<Record<Status, StaySketch>>>;

/**
 * Books the stretch that ended with a poll, and the stays that ended with it, in the buckets that
 * they fall into. Where a bucket or several of them passed without any being watched, that is booked
 * in the coarsest that passed as a whole, and no finer one is written: however long sandwatch was
 * away, few are.
 *
 * All that passed is booked, whatever the calendar did: after a step backwards of the clock it goes
 * to the bucket that was open.
 *
 * @param untilMs when the poll ended. UTC milliseconds
 */
export function bookStretch(
  accounts: Accounts,
  booking: Booking,
  untilMs: number,
  stays: EndedStays,
): AccountsStep {
  const finest = accounts["5m"];
  const openMs = finest?.startMs ?? -Infinity;
  const toMs = Math.max(untilMs, openMs);
  // Most often all of it falls into the finest that is open, and nothing is closed.
  if (finest && toMs < openMs + resolutionMs["5m"]) {
    return bookWithin(finest, accounts, booking, stays);
  }
  const book = openBook(accounts);
  let atMs = Math.max(untilMs - booking.elapsedMs, openMs);
  let surplusMs = booking.elapsedMs - (toMs - atMs);
  while (atMs < toMs || surplusMs > 0) {
    const resolution = booking.observed || surplusMs > 0 ? "5m" : book.coarsestPassed(atMs, toMs);
    const startMs = bucketStart(resolution, atMs);
    const endMs = Math.min(startMs + resolutionMs[resolution], toMs);
    book.add(resolution, atMs, (bucket) => bookPiece(bucket, booking, endMs - atMs + surplusMs));
    atMs = endMs;
    surplusMs = 0;
  }
  book.add("5m", toMs, (bucket) => bookStays(bucket, stays));
  return book.close();
}

function bookWithin(
  finest: Bucket,
  accounts: Accounts,
  booking: Booking,
  stays: EndedStays,
): AccountsStep {
  const { elapsedMs } = booking;
  const bucket = bookStays(elapsedMs > 0 ? bookPiece(finest, booking, elapsedMs) : finest, stays);
  if (bucket === finest) return { accounts, written: [] };
  return { accounts: { ...accounts, "5m": bucket }, written: [{ resolution: "5m", bucket }] };
}

function coarserThan(resolution: Resolution): Resolution | undefined {
  return resolutions[resolutions.indexOf(resolution) + 1];
}

/** Collects what changes, and closes each bucket into the coarser one when the next begins. */
function openBook(accounts: Accounts) {
  const open: Record<Resolution, Bucket | null> = { ...accounts };
  const written = new Map<string, BucketWrite>();

  const set = (resolution: Resolution, bucket: Bucket): void => {
    open[resolution] = bucket;
    written.set(`${resolution} ${bucket.startMs}`, { resolution, bucket });
  };

  const close = (resolution: Resolution): void => {
    const closed = open[resolution];
    const coarser = coarserThan(resolution);
    open[resolution] = null;
    if (closed && coarser) set(coarser, addClosed(turnTo(coarser, closed.startMs), closed));
  };

  /** Closes whatever is finer, and the bucket that was open if the moment is not in it. */
  const turnTo = (resolution: Resolution, atMs: number): Bucket => {
    for (const finer of resolutions.slice(0, resolutions.indexOf(resolution))) close(finer);
    const startMs = bucketStart(resolution, atMs);
    const current = open[resolution];
    if (current?.startMs === startMs) return current;
    close(resolution);
    const coarser = coarserThan(resolution);
    if (coarser) turnTo(coarser, atMs);
    const next = emptyBucket(startMs);
    set(resolution, next);
    return next;
  };

  return {
    /** The coarsest that passes as a whole from now on, and was not begun in finer ones. */
    coarsestPassed(fromMs: number, toMs: number): Resolution {
      const begun = resolutions.findIndex((resolution) => open[resolution]?.startMs === fromMs);
      const free = begun === -1 ? resolutions : resolutions.slice(0, begun + 1);
      const passed = free.findLast(
        (resolution) =>
          bucketStart(resolution, fromMs) === fromMs && toMs - fromMs >= resolutionMs[resolution],
      );
      return passed ?? "5m";
    },
    add(resolution: Resolution, atMs: number, change: (bucket: Bucket) => Bucket): void {
      const before = turnTo(resolution, atMs);
      const after = change(before);
      if (after !== before) set(resolution, after);
    },
    close: (): AccountsStep => ({ accounts: open, written: [...written.values()] }),
  };
}

function bookPiece(bucket: Bucket, booking: Booking, ms: number): Bucket {
  const { observed } = booking;
  const booked = {
    startMs: bucket.startMs,
    bookedMs: bucket.bookedMs + ms,
    unobservedMs: bucket.unobservedMs + (observed ? 0 : ms),
  };
  const goOn = bucket.names instanceof SteadyNames ? bucket.names.goOn(booking, ms) : null;
  if (goOn) return { ...booked, extent: bucket.extent, names: goOn };
  const begun = isUntouched(bucket)
    ? beginFirst(booking)
    : { ...begin(bucket, booking), isFirst: false };
  return { ...booked, extent: begun.extent, names: new SteadyNames(begun, booking, ms) };
}

/** No server was booked to it, nor that there were none. */
function isUntouched({ names, extent }: Bucket): boolean {
  return names.size === 0 && !extent;
}

/** What the buckets of a target begin with as long as nothing changes: it is the same each time. */
const beginnings = new WeakMap<Steady["tallies"], { observed?: Begun; unobserved?: Begun }>();

function beginFirst(booking: Steady): Begun {
  const { tallies, observed } = booking;
  const known = beginnings.get(tallies) ?? {};
  beginnings.set(tallies, known);
  return (known[observed ? "observed" : "unobserved"] ??= {
    ...begin(emptyBucket(0), booking),
    isFirst: true,
  });
}

/** All that comes of a booking but its time. */
function begin(bucket: Bucket, { observed, tallies }: Steady): Omit<Begun, "isFirst"> {
  const before = new Map(bucket.names);
  const names = new Map(before);
  let listed: CountByStatus = noneThroughout.least;
  for (const tally of tallies.values()) {
    if (countByStatus(tally.servers) === 0) continue;
    listed = addTimes(listed, tally.listed, 1);
    const account = before.get(tally.name) ?? accountIn(bucket, tally.name);
    const extent = observed ? widen(account.extent, extentOf(tally.listed)) : account.extent;
    names.set(tally.name, { ...account, extent });
  }
  if (!observed) return { extent: bucket.extent, names };
  for (const [name, account] of before) {
    const isThere = names.get(name) !== account;
    if (!isThere) names.set(name, { ...account, extent: widen(account.extent, noneThroughout) });
  }
  return { extent: widen(bucket.extent, extentOf(listed)), names };
}

/** Adds a finer bucket. Where it holds nothing but what goes on in the coarser one, that goes on. */
function addClosed(to: Bucket, closed: Bucket): Bucket {
  const names = isUntouched(to) ? closed.names : goOnAs(closed.names, to.names);
  return names ? addBucketAs(names, to, closed) : addBucket(to, closed);
}

function goOnAs(names: Bucket["names"], before: Bucket["names"]): Bucket["names"] | null {
  const isSteady = before instanceof SteadyNames && names instanceof SteadyNames;
  return isSteady && names.begun.isFirst ? before.goOn(names.steady, names.ms) : null;
}

function bookStays(bucket: Bucket, stays: EndedStays): Bucket {
  if (stays.size === 0) return bucket;
  const names = new Map(bucket.names);
  for (const [name, ended] of stays) {
    const account = names.get(name) ?? accountIn(bucket, name);
    const sketches = byStatus((status) => addStays(account.stays[status], ended[status]));
    names.set(name, { ...account, stays: sketches });
  }
  return { ...bucket, names };
}

function extentOf(counts: CountByStatus): Extent {
  return { least: counts, most: counts };
}
