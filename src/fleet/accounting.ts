import {
  accountIn,
  addBucket,
  bucketStart,
  coarserThan,
  emptyBucket,
  noneThroughout,
  resolutionMs,
  resolutions,
  widen,
} from "./buckets.ts";
import type { Bucket, Extent, NameAccount, Resolution } from "./buckets.ts";
import type { ServerDiff } from "./diff.ts";
import { addDwells, countDwells, dwellsOf } from "./dwell.ts";
import type { DwellHistogram } from "./dwell.ts";
import { addTimes, aggregateName, countByStatus, noneByStatus } from "./tallies.ts";
import type { CountByStatus, NameTally, Tallies } from "./tallies.ts";

/** How the time from one poll of a target to its next one is accounted for. */
export interface Stretch {
  /** Whole milliseconds. */
  readonly elapsedMs: number;
  /** Whether both polls were complete: only then was any server observed. */
  readonly observed: boolean;
  /** Of what is known throughout: what the earlier poll left. */
  readonly tallies: Tallies;
}

/** The buckets of a target that are open; null: nothing was recorded in this resolution yet. */
export type OpenBuckets = Readonly<Record<Resolution, Bucket | null>>;

export const noOpenBuckets: OpenBuckets = { "5m": null, "1h": null, "1d": null };

export interface BucketWrite {
  readonly resolution: Resolution;
  readonly bucket: Bucket;
}

export interface Accounting {
  readonly open: OpenBuckets;
  /** The buckets that changed or were closed, each once, as they are now. */
  readonly written: readonly BucketWrite[];
}

/** Of each name, as aggregates show it, the dwell times in `occupied` that ended with a poll. */
export type EndedDwells = ReadonlyMap<string, DwellHistogram>;

/** @param tallies those after the poll: they show each name that changed */
export function endedDwells(
  changes: readonly ServerDiff[],
  tallies: Pick<Tallies, "names">,
): EndedDwells {
  const ended = changes.filter(({ before }) => before?.status === "occupied");
  const byName = Map.groupBy(ended, ({ before }) => aggregateName(tallies, before?.name ?? null));
  const dwells = byName.entries().map(([name, changed]) => {
    const dwellsMs = changed.map(({ dwellMs }) => dwellMs).filter((ms) => ms !== null);
    return [name, dwellsOf(dwellsMs)] as const;
  });
  return new Map(dwells.filter(([, histogram]) => countDwells(histogram) > 0));
}

/** Calendar time in which a target was not observed. UTC milliseconds. */
export interface Gap {
  readonly fromMs: number;
  readonly toMs: number;
}

/** The clocks may differ by less without one of them having been set. */
const slackMs = 1_000;

/**
 * The time of the calendar that passed unobserved since the previous poll. Between two observed polls that is what the
 * clock was set forward, or how long the machine was suspended.
 *
 * @param lastPollAtMs when the previous poll ended; null: there was none
 * @param atMs when this one ended
 */
export function gapBefore(
  { elapsedMs, observed }: Stretch,
  lastPollAtMs: number | null,
  atMs: number,
): Gap | null {
  if (lastPollAtMs === null) return null;
  const toMs = observed ? atMs - elapsedMs : atMs;
  const leastMs = observed ? slackMs : 0;
  return toMs - lastPollAtMs > leastMs ? { fromMs: lastPollAtMs, toMs } : null;
}

/** Of the target, not of its servers. Milliseconds. */
export function unobservedMsOf({ elapsedMs, observed }: Stretch): number {
  return observed ? 0 : elapsedMs;
}

/**
 * Records the time that ended with a poll, and the dwell times that ended with it, in the buckets that they fall into.
 * Hours or days that passed unobserved as a whole are recorded in one bucket of the coarsest such resolution alone: few
 * rows are written, however long sandwatch was away. After a step backwards of the clock, time goes to the open bucket.
 *
 * @param untilMs when the poll ended. UTC milliseconds
 */
export function recordTime(
  before: OpenBuckets,
  stretch: Stretch,
  untilMs: number,
  dwells: EndedDwells,
): Accounting {
  const openMs = before["5m"]?.startMs ?? -Infinity;
  const toMs = Math.max(untilMs, openMs);
  const buckets = openAll(before);
  let atMs = Math.max(untilMs - stretch.elapsedMs, openMs);
  let surplusMs = stretch.elapsedMs - (toMs - atMs);
  while (atMs < toMs || surplusMs > 0) {
    const resolution =
      stretch.observed || surplusMs > 0 ? "5m" : buckets.coarsestPassed(atMs, toMs);
    const endMs = Math.min(bucketStart(resolution, atMs) + resolutionMs[resolution], toMs);
    const ms = endMs - atMs + surplusMs;
    buckets.change(resolution, atMs, (bucket) => addTime(bucket, stretch, ms));
    atMs = endMs;
    surplusMs = 0;
  }
  buckets.change("5m", toMs, (bucket) => addEndedDwells(bucket, dwells));
  return buckets.result();
}

/** Closes each bucket into the coarser one when the next one begins. */
function openAll(before: OpenBuckets) {
  const open: Record<Resolution, Bucket | null> = { ...before };
  const written = new Map<string, BucketWrite>();

  const set = (resolution: Resolution, bucket: Bucket): void => {
    open[resolution] = bucket;
    written.set(`${resolution} ${bucket.startMs}`, { resolution, bucket });
  };

  const close = (resolution: Resolution): void => {
    const closed = open[resolution];
    const [coarser] = coarserThan(resolution);
    open[resolution] = null;
    if (!closed) return;
    // Also where the poll did not change it: what is open is not stored as what is closed.
    written.set(`${resolution} ${closed.startMs}`, { resolution, bucket: closed });
    if (coarser) set(coarser, addBucket(turnTo(coarser, closed.startMs), closed));
  };

  /** Closes all finer buckets, and the open one if the moment is not in it. */
  const turnTo = (resolution: Resolution, atMs: number): Bucket => {
    for (const finer of resolutions.slice(0, resolutions.indexOf(resolution))) close(finer);
    const startMs = bucketStart(resolution, atMs);
    const current = open[resolution];
    if (current?.startMs === startMs) return current;
    close(resolution);
    const [coarser] = coarserThan(resolution);
    if (coarser) turnTo(coarser, atMs);
    const next = emptyBucket(startMs);
    set(resolution, next);
    return next;
  };

  return {
    /** The coarsest resolution of which a bucket passes as a whole from now on, and was not begun in finer ones. */
    coarsestPassed(fromMs: number, toMs: number): Resolution {
      const begun = resolutions.findIndex((resolution) => open[resolution]?.startMs === fromMs);
      const free = begun === -1 ? resolutions : resolutions.slice(0, begun + 1);
      const passed = free.findLast(
        (resolution) =>
          bucketStart(resolution, fromMs) === fromMs && toMs - fromMs >= resolutionMs[resolution],
      );
      return passed ?? "5m";
    },
    change(resolution: Resolution, atMs: number, change: (bucket: Bucket) => Bucket): void {
      const bucket = turnTo(resolution, atMs);
      const after = change(bucket);
      if (after !== bucket) set(resolution, after);
    },
    result: (): Accounting => ({ open, written: [...written.values()] }),
  };
}

function addTime(bucket: Bucket, { observed, tallies }: Stretch, ms: number): Bucket {
  const names = new Map(bucket.names);
  let listed: CountByStatus = noneByStatus;
  for (const tally of tallies.names.values()) {
    const servers = countByStatus(tally.servers);
    if (servers === 0) continue;
    listed = addTimes(listed, tally.listed, 1);
    const account = bucket.names.get(tally.name) ?? accountIn(bucket, tally.name);
    names.set(tally.name, addTimeOfName(account, tally, observed, ms));
  }
  if (observed) {
    for (const [name, account] of bucket.names) {
      if (names.get(name) !== account) continue;
      names.set(name, { ...account, extent: widen(account.extent, noneThroughout) });
    }
  }
  return {
    startMs: bucket.startMs,
    recordedMs: bucket.recordedMs + ms,
    unobservedMs: bucket.unobservedMs + (observed ? 0 : ms),
    extent: observed ? widen(bucket.extent, extentOf(listed)) : bucket.extent,
    names,
  };
}

function addTimeOfName(
  account: NameAccount,
  { servers, listed }: NameTally,
  observed: boolean,
  ms: number,
): NameAccount {
  const known = countByStatus(servers);
  if (!observed) return { ...account, unobservedMs: account.unobservedMs + known * ms };
  const observedCount = countByStatus(listed);
  return {
    ms: addTimes(account.ms, listed, ms),
    unobservedMs: account.unobservedMs + (known - observedCount) * ms,
    extent: widen(account.extent, extentOf(listed)),
    exhaustedMs: account.exhaustedMs + (listed.idle === 0 && observedCount > 0 ? ms : 0),
    dwells: account.dwells,
  };
}

function addEndedDwells(bucket: Bucket, dwells: EndedDwells): Bucket {
  if (dwells.size === 0) return bucket;
  const names = new Map(bucket.names);
  for (const [name, ended] of dwells) {
    const account = accountIn(bucket, name);
    names.set(name, { ...account, dwells: addDwells(account.dwells, ended) });
  }
  return { ...bucket, names };
}

function extentOf(counts: CountByStatus): Extent {
  return { least: counts, most: counts };
}
