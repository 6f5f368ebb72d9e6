import { targetName } from "../fleet/model.ts";
import { statuses } from "../fleet/status.ts";
import type { Target } from "../fleet/model.ts";
import type { Status } from "../fleet/status.ts";
import { resolutionMs } from "../fleet/buckets.ts";
import type { Bucket, Resolution } from "../fleet/buckets.ts";
import { endings, escapeLabelValue, familyHeader } from "../metrics/exposition-text.ts";
import { keptFromOf } from "./kept.ts";
import type { OccupancyHistory } from "./sources.ts";
import { isChosen } from "./targets.ts";
import type { TargetFilter } from "./targets.ts";
import type { TimeRange } from "./time-range.ts";

export interface OpenMetricsQuery {
  readonly range: TimeRange;
  readonly resolution: Resolution;
  readonly filter: TargetFilter;
  readonly nowMs: number;
}

const statusHelp =
  "Server-seconds observed in a status: the rate is the time-weighted number of servers in it.";
const unobservedHelp = "Seconds in which a target was not observed.";

/**
 * Counters as they would have been scraped at the end of every bucket, from 0 at the beginning of the
 * range: as OpenMetrics has it, a family after the other, in each a series after the other, in each the
 * samples in order of time. Of one target at a time is anything held.
 *
 * @see https://prometheus.io/docs/prometheus/latest/storage/#backfilling-from-openmetrics-format
 */
export async function* openMetricsOf(
  query: OpenMetricsQuery,
  occupancy: OccupancyHistory,
): AsyncIterable<string> {
  const extents = await occupancy.extents();
  const byName = new Map(extents.map(({ target }) => [targetName(target), target]));
  const targets = [...byName.values()].filter((target) => isChosen(target, query.filter));
  const range = wholeBuckets(query, keptFromOf(extents)[query.resolution]);
  const read = (target: Target): Promise<TargetSeries> =>
    readSeries(occupancy, target, query.resolution, range);

  const status = "sandbox_server_status_seconds_total";
  yield familyHeader("openmetrics", status, statusHelp, "counter");
  for (const target of targets) {
    const { times, byServerName } = await read(target);
    for (const [name, counters] of byServerName) {
      for (const each of statuses) {
        yield samples(
          status,
          { ...target, server_name: name, status: each },
          times,
          counters[each],
        );
      }
    }
  }
  const unobserved = "sandbox_unobserved_seconds_total";
  yield familyHeader("openmetrics", unobserved, unobservedHelp, "counter");
  for (const target of targets) {
    const { times, unobservedMs } = await read(target);
    yield samples(unobserved, { ...target }, times, unobservedMs);
  }
  yield endings.openmetrics;
}

/** Of the buckets that are over: the one that is open now would be told of again, with more in it. */
function wholeBuckets(
  { range, resolution, nowMs }: OpenMetricsQuery,
  keptFromMs: number,
): TimeRange {
  const sizeMs = resolutionMs[resolution];
  const floor = (atMs: number): number => Math.floor(atMs / sizeMs) * sizeMs;
  return {
    fromMs: Math.max(floor(range.fromMs), keptFromMs),
    toMs: Math.min(Math.ceil(range.toMs / sizeMs) * sizeMs, floor(nowMs)),
  };
}

/** Sums in milliseconds, one for each of the times. */
interface TargetSeries {
  /** UTC milliseconds. */
  readonly times: readonly number[];
  readonly unobservedMs: readonly number[];
  readonly byServerName: ReadonlyMap<string, Readonly<Record<Status, readonly number[]>>>;
}

type Counters = Record<Status, number[]>;

async function readSeries(
  occupancy: OccupancyHistory,
  target: Target,
  resolution: Resolution,
  range: TimeRange,
): Promise<TargetSeries> {
  const times: number[] = [];
  const unobservedMs: number[] = [];
  const byServerName = new Map<string, Counters>();
  const filter = { region: [target.region], key: [target.key] };
  const addBucket = (bucket: Bucket): void => {
    for (const name of bucket.names.keys()) {
      if (!byServerName.has(name)) byServerName.set(name, zeros(times.length));
    }
    const add = (atMs: number, booked: Bucket | null): void => {
      times.push(atMs);
      unobservedMs.push((unobservedMs.at(-1) ?? 0) + (booked?.unobservedMs ?? 0));
      for (const [name, counters] of byServerName) {
        const ms = booked?.names.get(name)?.ms;
        for (const status of statuses) {
          counters[status].push((counters[status].at(-1) ?? 0) + (ms?.[status] ?? 0));
        }
      }
    };
    // Where it begins, too: at first a 0, so that what it holds counts as an increase, and of its time.
    if (times.at(-1) !== bucket.startMs) add(bucket.startMs, null);
    add(bucket.startMs + resolutionMs[resolution], bucket);
  };
  for await (const some of occupancy.buckets({ resolution, ...range, ...filter })) {
    for (const { bucket } of some) addBucket(bucket);
  }
  return { times, unobservedMs, byServerName };
}

function zeros(count: number): Counters {
  const make = (): number[] => Array.from({ length: count }, () => 0);
  return { idle: make(), occupied: make(), error: make(), unknown: make() };
}

function samples(
  name: string,
  labels: Readonly<Record<string, string>>,
  times: readonly number[],
  sums: readonly number[],
): string {
  const text = Object.entries(labels)
    .map(([label, value]) => `${label}="${escapeLabelValue(value)}"`)
    .join(",");
  return times
    .map((atMs, index) => `${name}{${text}} ${(sums[index] ?? 0) / 1_000} ${atMs / 1_000}\n`)
    .join("");
}
