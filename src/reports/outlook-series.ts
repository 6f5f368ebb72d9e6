import { bucketStart, resolutionMs, serverMsOf } from "../fleet/buckets.ts";
import type { Bucket, Counted, NameAccount } from "../fleet/buckets.ts";
import { targetName, type Target } from "../fleet/model.ts";
import { countByStatus } from "../fleet/tallies.ts";
import type { BucketRange, OccupancyReader, TargetBucket } from "../store/occupancy-history.ts";
import { dayMs, leastObserved, mostWeeks, weekMs } from "./forecast.ts";
import type { PoolSeries, PoolWeek } from "./outlook.ts";
import { UsageSums } from "./pool-usage.ts";
import type { TimeRange } from "./time-range.ts";

/** Days are fine enough for a longer range. */
const longestOfHours = 35;

function resolutionOf({ fromMs, toMs }: TimeRange): "1d" | "1h" {
  return Math.floor((toMs - fromMs) / dayMs) > longestOfHours ? "1d" : "1h";
}

/** A range with all of the hours, or of a long one the days, that it is in: what is said of it is of these. */
export function wholeRange(range: TimeRange, nowMs: number): TimeRange {
  const unitMs = resolutionMs[resolutionOf(range)];
  return {
    fromMs: Math.floor(range.fromMs / unitMs) * unitMs,
    toMs: Math.min(Math.ceil(range.toMs / unitMs) * unitMs, nowMs),
  };
}

export interface PoolQuery {
  /** Of what is said of the use of pools. */
  readonly range: TimeRange;
  readonly nowMs: number;
  readonly counted: Counted;
  /** The pool that those of a value of a target are in. */
  readonly poolOf: (target: Target, value: string) => string;
  /** Is given all hours of the range, so that they are read once. */
  readonly onHours?: ((some: readonly TargetBucket[]) => void) | undefined;
}

/**
 * The last weeks of each pool up to the beginning of today in UTC, and its use in a range. Pools that had no servers for a
 * week are gone. Days and hours are each read once.
 */
export async function readPoolSeries(
  occupancy: Pick<OccupancyReader, "buckets">,
  { range, nowMs, onHours, ...query }: PoolQuery,
): Promise<ReadonlyMap<string, PoolSeries>> {
  const toMs = Math.floor(nowMs / dayMs) * dayMs;
  const weeks = { fromMs: toMs - mostWeeks * weekMs, toMs };
  // Of several parts, hours give a closer bound than days.
  const lastWeek = { fromMs: toMs - weekMs, toMs };
  const ofUsage = resolutionOf(range);
  const wholeIn = (resolution: "1d" | "1h"): TimeRange => ({
    ...range,
    fromMs: bucketStart(resolution, range.fromMs),
  });
  const hours = wholeIn("1h");
  const whole = wholeIn(ofUsage);
  const pools = new Map<string, PoolSums>();
  const dayStarts = new Set<number>();
  /** The last one of each target. Of one that is not configured any more, nothing is known later. */
  const lastDays = new Map<string, number>();
  let lastMs = Number.NEGATIVE_INFINITY;
  const sumsWith = (pool: string, slot: Slot): PoolSums => {
    const none = { weeks: [], usage: new UsageSums(), lastNoIdleMs: 0, isExact: true, lastMs: 0 };
    const sums = pools.get(pool) ?? { ...none, targets: new Set() };
    pools.set(pool, sums);
    sums.isExact &&= slot.parts === 1;
    sums.lastMs = Math.max(sums.lastMs, slot.startMs);
    for (const target of slot.times.keys()) sums.targets.add(target);
    lastMs = Math.max(lastMs, slot.startMs);
    return sums;
  };
  const addDayOf = (sums: PoolSums, slot: Slot): void => {
    dayStarts.add(slot.startMs);
    const week = Math.floor((slot.startMs - weeks.fromMs) / weekMs);
    addDay((sums.weeks[week] ??= emptyWeek()), slot);
  };
  const ranges = {
    "1d": joined(ofUsage === "1d" ? [weeks, whole] : [weeks]),
    "1h": joined(onHours || ofUsage === "1h" ? [lastWeek, hours] : [lastWeek]),
  };
  for (const resolution of ["1d", "1h"] as const) {
    for (const each of ranges[resolution]) {
      const observer = resolution === "1h" ? onHours : undefined;
      const slots = slotsOf(occupancy, { resolution, ...each }, query, (some) => {
        observer?.(some.filter(({ bucket }) => isIn(hours, bucket.startMs)));
        if (resolution === "1h") return;
        for (const { target, bucket } of some) lastDays.set(targetName(target), bucket.startMs);
      });
      for await (const [pool, slot] of slots) {
        const sums = sumsWith(pool, slot);
        if (resolution === "1d" && isIn(weeks, slot.startMs)) addDayOf(sums, slot);
        if (resolution === "1h" && isIn(lastWeek, slot.startMs)) {
          sums.lastNoIdleMs += noIdleOf(slot);
        }
        if (resolution === ofUsage && isIn(whole, slot.startMs)) {
          sums.usage.add({
            fromMs: slot.startMs,
            toMs: slot.startMs + resolutionMs[resolution],
            observedMs: slot.observedMs,
            noIdleMs: noIdleOf(slot),
            occupiedPeak: slot.isObserved ? slot.occupied : null,
          });
        }
      }
    }
  }
  // A day without any bucket is unknown. On one with buckets of others, a pool had no servers.
  const weekStarts = Array.from({ length: mostWeeks }, (_, week) => weeks.fromMs + week * weekMs);
  const knownDays = weekStarts.map((startMs) =>
    [...dayStarts].filter((day) => day >= startMs && day < startMs + weekMs),
  );
  const series = new Map<string, PoolSeries>();
  for (const [pool, { weeks: found, usage, lastNoIdleMs, isExact, ...sums }] of pools) {
    if (sums.lastMs < lastMs - weekMs) continue;
    const lastDayMs = Math.max(...[...sums.targets].map((target) => lastDays.get(target) ?? 0));
    series.set(pool, {
      weeks: weekStarts.map((startMs, week) =>
        weekOf(
          found[week] ?? emptyWeek(),
          startMs,
          knownDays[week]?.filter((day) => day <= lastDayMs) ?? [],
        ),
      ),
      lastNoIdleMs,
      usage: usage.result(),
      isExact,
    });
  }
  return series;
}

function isIn({ fromMs, toMs }: TimeRange, atMs: number): boolean {
  return atMs >= fromMs && atMs < toMs;
}

/** In order; those that overlap are one. */
function joined(ranges: readonly TimeRange[]): readonly TimeRange[] {
  const [first, second] = ranges.toSorted((one, other) => one.fromMs - other.fromMs);
  if (!first || !second || second.fromMs > first.toMs) return ranges;
  return [{ fromMs: first.fromMs, toMs: Math.max(first.toMs, second.toMs) }];
}

interface PoolSums {
  readonly weeks: WeekSums[];
  readonly usage: UsageSums;
  /** For how long none was idle in the last week. */
  lastNoIdleMs: number;
  /** Whether it was never of several parts at once. */
  isExact: boolean;
  /** When the last hour or day began in which there were servers. */
  lastMs: number;
  readonly targets: Set<string>;
}

/** What the parts of a pool had together in an hour or a day. */
interface Slot {
  readonly startMs: number;
  /** Of how many targets, or values of targets, it is. */
  parts: number;
  isObserved: boolean;
  observedMs: number;
  /** A pool has no idle server for at most as long as each of its parts. */
  noIdleMs: number;
  occupied: number;
  servers: number;
  serverMs: number;
  observedServerMs: number;
  /** By target. */
  readonly times: Map<string, OccupiedTime>;
}

interface OccupiedTime {
  /** Of servers. */
  readonly occupiedMs: number;
  readonly observedMs: number;
}

/** Each pool with what it had, hour by hour or day by day. */
async function* slotsOf(
  occupancy: Pick<OccupancyReader, "buckets">,
  bucketRange: BucketRange,
  { counted, poolOf }: Pick<PoolQuery, "counted" | "poolOf">,
  onRead: (some: readonly TargetBucket[]) => void,
): AsyncIterable<readonly [string, Slot]> {
  let slots = new Map<string, Slot>();
  let startMs = Number.NaN;
  for await (const some of occupancy.buckets(bucketRange, counted)) {
    onRead(some);
    for (const { target, bucket } of some) {
      if (bucket.startMs !== startMs) {
        yield* slots;
        slots = new Map();
        startMs = bucket.startMs;
      }
      for (const [value, account] of bucket.names) {
        const pool = poolOf(target, value);
        const slot = slots.get(pool) ?? emptySlot(startMs);
        slots.set(pool, slot);
        addPart(slot, targetName(target), bucket, account);
      }
    }
  }
  yield* slots;
}

function emptySlot(startMs: number): Slot {
  return {
    startMs,
    parts: 0,
    isObserved: false,
    observedMs: 0,
    noIdleMs: Number.POSITIVE_INFINITY,
    occupied: 0,
    servers: 0,
    serverMs: 0,
    observedServerMs: 0,
    times: new Map(),
  };
}

function addPart(slot: Slot, target: string, bucket: Bucket, account: NameAccount): void {
  const observedMs = Math.max(0, bucket.recordedMs - bucket.unobservedMs);
  const listedMs = countByStatus(account.ms);
  slot.parts += 1;
  slot.serverMs += serverMsOf(account);
  slot.observedServerMs += listedMs;
  const time = { occupiedMs: account.ms.occupied, observedMs };
  const known = slot.times.get(target)?.occupiedMs ?? 0;
  slot.times.set(target, { observedMs, occupiedMs: known + time.occupiedMs });
  if (!account.peaks || observedMs === 0 || listedMs === 0) return;
  const { occupied, servers } = account.peaks;
  slot.isObserved = true;
  slot.observedMs = Math.max(slot.observedMs, observedMs);
  slot.noIdleMs = Math.min(slot.noIdleMs, account.exhaustedMs);
  slot.occupied += occupied;
  slot.servers += servers;
}

function noIdleOf({ isObserved, noIdleMs }: Slot): number {
  return isObserved ? noIdleMs : 0;
}

interface WeekSums {
  /** When the last day began on which there were servers. */
  lastDayMs: number;
  serverMs: number;
  observedServerMs: number;
  occupiedPeak: number | null;
  servers: number | null;
  readonly times: Map<string, OccupiedTime>;
}

function emptyWeek(): WeekSums {
  const none = { serverMs: 0, observedServerMs: 0, lastDayMs: 0 };
  return { ...none, occupiedPeak: null, servers: null, times: new Map() };
}

function addDay(week: WeekSums, day: Slot): void {
  if (day.serverMs > 0) week.lastDayMs = day.startMs;
  week.serverMs += day.serverMs;
  week.observedServerMs += day.observedServerMs;
  for (const [target, { occupiedMs, observedMs }] of day.times) {
    const known = week.times.get(target) ?? { occupiedMs: 0, observedMs: 0 };
    week.times.set(target, {
      occupiedMs: known.occupiedMs + occupiedMs,
      observedMs: known.observedMs + observedMs,
    });
  }
  if (!day.isObserved) return;
  week.occupiedPeak = Math.max(week.occupiedPeak ?? 0, day.occupied);
  week.servers = day.servers;
}

/** @param days when those of the week began of which anything is known */
function weekOf(sums: WeekSums, startMs: number, days: readonly number[]): PoolWeek {
  const { serverMs, observedServerMs, occupiedPeak, times, lastDayMs } = sums;
  const knownShare = days.length / 7;
  const isGone = serverMs > 0 && days.some((day) => day > lastDayMs);
  const average = times
    .values()
    .reduce((sum, time) => sum + (time.observedMs > 0 ? time.occupiedMs / time.observedMs : 0), 0);
  return {
    startMs,
    observedShare: serverMs === 0 ? 0 : (observedServerMs / serverMs) * knownShare,
    isEmpty: serverMs === 0 && knownShare >= leastObserved,
    occupiedAverage: occupiedPeak === null ? null : average,
    occupiedPeak,
    servers: isGone ? 0 : sums.servers,
  };
}
