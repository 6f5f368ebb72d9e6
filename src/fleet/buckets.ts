import { addDwells, noDwells } from "./dwell.ts";
import type { DwellHistogram } from "./dwell.ts";
import { addTimes, countByStatus, noneByStatus } from "./tallies.ts";
import type { CountByStatus } from "./tallies.ts";

/** From the finest to the coarsest; each is a whole number of the one before, and begins in UTC. */
export const resolutions = ["5m", "15m", "1h", "1d"] as const;
export type Resolution = (typeof resolutions)[number];

/**
 * Those that are stored once they are over, quarters only where a zone needs them. The others are derived from changes and
 * gaps each time.
 */
export const rolledUp = ["15m", "1h", "1d"] as const;
export type RolledUp = (typeof rolledUp)[number];

/** What is counted: all servers or sandboxes, or those of each value. */
export const countedKinds = [
  "server",
  "server_name",
  "benchmark",
  "tag",
  "sandbox",
  "sandbox_benchmark",
] as const;
export type Counted = (typeof countedKinds)[number];

export const resolutionMs: Readonly<Record<Resolution, number>> = {
  "5m": 5 * 60_000,
  "15m": 15 * 60_000,
  "1h": 60 * 60_000,
  "1d": 24 * 60 * 60_000,
};

/** The start of the bucket that holds a moment. UTC milliseconds. */
export function bucketStart(resolution: Resolution, atMs: number): number {
  return Math.floor(atMs / resolutionMs[resolution]) * resolutionMs[resolution];
}

/** The most servers at a time, while it was observed. */
export interface Peaks {
  readonly occupied: number;
  /** In any status. */
  readonly servers: number;
}

/** What is recorded of the servers of one name. Milliseconds of servers: two servers for a second are 2,000. */
export interface NameAccount {
  readonly ms: CountByStatus;
  readonly unobservedMs: number;
  /** Null: none of the bucket was observed. */
  readonly peaks: Peaks | null;
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
  readonly names: ReadonlyMap<string, NameAccount>;
}

export function emptyBucket(startMs: number): Bucket {
  return { startMs, recordedMs: 0, unobservedMs: 0, names: new Map() };
}

/** Whether a bucket says nothing: no time was recorded, and nothing counted. */
export function isEmptyBucket({ recordedMs, names }: Bucket): boolean {
  return recordedMs === 0 && names.size === 0;
}

/** Of what was observed not to be there. */
const noPeaks: Peaks = { occupied: 0, servers: 0 };

export const emptyAccount: NameAccount = {
  ms: noneByStatus,
  unobservedMs: 0,
  peaks: null,
  exhaustedMs: 0,
  dwells: noDwells,
};

/** The account of a value that nothing in the bucket had. */
export function accountOfNone({
  recordedMs,
  unobservedMs,
}: Pick<Bucket, "recordedMs" | "unobservedMs">): NameAccount {
  return unobservedMs < recordedMs ? { ...emptyAccount, peaks: noPeaks } : emptyAccount;
}

/** Adds what a finer bucket, or the same one of another target, holds. */
export function addBucket(to: Bucket, from: Bucket): Bucket {
  const names = new Map(to.names);
  for (const [name, account] of from.names) {
    names.set(name, addAccount(names.get(name) ?? emptyAccount, account));
  }
  const recordedMs = to.recordedMs + from.recordedMs;
  const unobservedMs = to.unobservedMs + from.unobservedMs;
  if (unobservedMs < recordedMs) {
    // There were none while it was observed.
    for (const [name, account] of names) {
      if (account.peaks === null) names.set(name, { ...account, peaks: noPeaks });
    }
  }
  return { startMs: to.startMs, recordedMs, unobservedMs, names };
}

/** All time recorded of servers, observed or not. Milliseconds of servers. */
export function serverMsOf({ ms, unobservedMs }: Pick<NameAccount, "ms" | "unobservedMs">): number {
  return countByStatus(ms) + unobservedMs;
}

export function addAccount(some: NameAccount, more: NameAccount): NameAccount {
  if (some === emptyAccount) return more;
  return {
    ms: addTimes(some.ms, more.ms, 1),
    unobservedMs: some.unobservedMs + more.unobservedMs,
    peaks: highest(some.peaks, more.peaks),
    exhaustedMs: some.exhaustedMs + more.exhaustedMs,
    dwells: addDwells(some.dwells, more.dwells),
  };
}

function highest(some: Peaks | null, more: Peaks | null): Peaks | null {
  if (!some || !more) return some ?? more;
  return {
    occupied: Math.max(some.occupied, more.occupied),
    servers: Math.max(some.servers, more.servers),
  };
}
