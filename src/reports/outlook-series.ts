import { bucketStart, resolutionMs, serverMsOf } from "../fleet/buckets.ts";
import type { Bucket, NameAccount } from "../fleet/buckets.ts";
import { targetName, type Target } from "../fleet/model.ts";
import { countByStatus } from "../fleet/tallies.ts";
import type { BucketRange, OccupancyReader } from "../store/occupancy-history.ts";
import { dayMs, mostWeeks, weekMs } from "./forecast.ts";
import type { PoolSeries, PoolWeek } from "./outlook.ts";
import { UsageSums } from "./pool-usage.ts";
import type { TimeRange } from "./time-range.ts";

/** Days are fine enough for a longer range. */
const longestOfHours = 35 * dayMs;

/** The pools that the servers of a name of a target are in. */
type PoolsOf = (target: Target, serverName: string) => readonly string[];

/**
 * The last weeks of each pool up to the beginning of today in UTC, and its use in a range. Pools that had no servers for a
 * week are gone.
 */
export async function readPoolSeries(
  occupancy: Pick<OccupancyReader, "buckets">,
  range: TimeRange,
  nowMs: number,
  poolsOf: PoolsOf,
): Promise<ReadonlyMap<string, PoolSeries>> {
  const toMs = Math.floor(nowMs / dayMs) * dayMs;
  const fromMs = toMs - mostWeeks * weekMs;
  const pools = new Map<string, PoolSums>();
  const dayStarts = new Set<number>();
  let lastMs = Number.NEGATIVE_INFINITY;
  const sumsWith = (pool: string, slot: Slot): PoolSums => {
    const none = { weeks: [], usage: new UsageSums(), lastNoIdleMs: 0, isExact: true, lastMs: 0 };
    const sums = pools.get(pool) ?? none;
    pools.set(pool, sums);
    sums.isExact &&= slot.parts === 1;
    sums.lastMs = Math.max(sums.lastMs, slot.startMs);
    lastMs = Math.max(lastMs, slot.startMs);
    return sums;
  };
  const days = { resolution: "1d", fromMs, toMs } as const;
  for await (const [pool, slot] of slotsOf(occupancy, days, poolsOf)) {
    const { weeks } = sumsWith(pool, slot);
    dayStarts.add(slot.startMs);
    const week = Math.floor((slot.startMs - fromMs) / weekMs);
    addDay((weeks[week] ??= emptyWeek()), slot);
  }
  // Of several parts, hours give a closer bound than days.
  const hours = { resolution: "1h", fromMs: toMs - weekMs, toMs } as const;
  for await (const [pool, slot] of slotsOf(occupancy, hours, poolsOf)) {
    sumsWith(pool, slot).lastNoIdleMs += noIdleOf(slot);
  }
  const resolution = range.toMs - range.fromMs > longestOfHours ? "1d" : "1h";
  const whole = { ...range, resolution, fromMs: bucketStart(resolution, range.fromMs) } as const;
  for await (const [pool, slot] of slotsOf(occupancy, whole, poolsOf)) {
    sumsWith(pool, slot).usage.add({
      fromMs: slot.startMs,
      toMs: slot.startMs + resolutionMs[resolution],
      observedMs: slot.observedMs,
      noIdleMs: noIdleOf(slot),
      occupiedPeak: slot.isObserved ? slot.occupied : null,
    });
  }
  // A day without any bucket is unknown. On one with buckets of others, a pool had no servers.
  const weekStarts = Array.from({ length: mostWeeks }, (_, week) => fromMs + week * weekMs);
  const knownShares = weekStarts.map(
    (startMs) =>
      [...dayStarts].filter((day) => day >= startMs && day < startMs + weekMs).length / 7,
  );
  const series = new Map<string, PoolSeries>();
  for (const [pool, { weeks, usage, lastNoIdleMs, isExact, lastMs: poolLastMs }] of pools) {
    if (poolLastMs < lastMs - weekMs) continue;
    series.set(pool, {
      weeks: weekStarts.map((startMs, week) =>
        weekOf(weeks[week] ?? emptyWeek(), startMs, knownShares[week] ?? 0),
      ),
      lastNoIdleMs,
      usage: usage.result(),
      isExact,
    });
  }
  return series;
}

interface PoolSums {
  readonly weeks: WeekSums[];
  readonly usage: UsageSums;
  /** For how long none was idle in the last week. */
  lastNoIdleMs: number;
  /** Whether it was never of several names of targets at once. */
  isExact: boolean;
  /** When the last hour or day began in which there were servers. */
  lastMs: number;
}

/** What the parts of a pool had together in an hour or a day. */
interface Slot {
  readonly startMs: number;
  /** How many names of targets it is of. */
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
  poolsOf: PoolsOf,
): AsyncIterable<readonly [string, Slot]> {
  let slots = new Map<string, Slot>();
  let startMs = Number.NaN;
  for await (const some of occupancy.buckets(bucketRange, "server_name")) {
    for (const { target, bucket } of some) {
      if (bucket.startMs !== startMs) {
        yield* slots;
        slots = new Map();
        startMs = bucket.startMs;
      }
      for (const [name, account] of bucket.names) {
        for (const pool of poolsOf(target, name)) {
          const slot = slots.get(pool) ?? emptySlot(startMs);
          slots.set(pool, slot);
          addPart(slot, targetName(target), bucket, account);
        }
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
  serverMs: number;
  observedServerMs: number;
  occupiedPeak: number | null;
  servers: number | null;
  readonly times: Map<string, OccupiedTime>;
}

function emptyWeek(): WeekSums {
  const none = { serverMs: 0, observedServerMs: 0 };
  return { ...none, occupiedPeak: null, servers: null, times: new Map() };
}

function addDay(week: WeekSums, day: Slot): void {
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

function weekOf(sums: WeekSums, startMs: number, knownShare: number): PoolWeek {
  const { serverMs, observedServerMs, occupiedPeak, servers, times } = sums;
  const average = times
    .values()
    .reduce((sum, time) => sum + (time.observedMs > 0 ? time.occupiedMs / time.observedMs : 0), 0);
  return {
    startMs,
    observedShare: serverMs === 0 ? 0 : (observedServerMs / serverMs) * knownShare,
    occupiedAverage: occupiedPeak === null ? null : average,
    occupiedPeak,
    servers,
  };
}
