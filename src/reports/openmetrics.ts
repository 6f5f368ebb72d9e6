import { bucketStart, resolutionMs, type Bucket, type Resolution } from "../fleet/buckets.ts";
import { targetName, type Target, statuses, type Status } from "../fleet/model.ts";
import { byStatus } from "../fleet/tallies.ts";
import { endings, escapeLabelValue, familyHeader } from "../metrics/exposition-text.ts";
import type { TargetFilter } from "../store/occupancy-history.ts";
import type { ReportSources } from "./report-sources.ts";
import { countedFor, type ReportedKind } from "./report-fields.ts";
import type { TimeRange } from "./time-range.ts";

export interface OpenMetricsQuery {
  readonly of: ReportedKind;
  readonly range: TimeRange;
  readonly resolution: Resolution;
  readonly filter: TargetFilter;
  readonly nowMs: number;
}

const serverHelp =
  "Server-seconds observed in a status: the rate is the time-weighted number of servers in it.";
const sandboxHelp =
  "Sandbox-seconds observed in a status: the rate is the time-weighted number of sandboxes in it.";
const unobservedHelp = "Seconds in which a target was not observed.";

/**
 * Counters as they would have been scraped at the end of every bucket, from 0 at the beginning of the
 * range: as OpenMetrics has it, a family after the other, in each a series after the other, in each the
 * samples in order of time. Only one target at a time is held.
 *
 * @see https://prometheus.io/docs/prometheus/latest/storage/#backfilling-from-openmetrics-format
 */
export async function* openMetricsOf(
  { of, range, resolution, filter, nowMs }: OpenMetricsQuery,
  occupancy: ReportSources["occupancy"],
): AsyncIterable<string> {
  const { recorded, keptFrom } = await occupancy.open(filter);
  const targets = new Map(recorded.map(({ target }) => [targetName(target), target]));
  // Without the bucket that is open now: it would be exported again, with more in it.
  const bucketRange = {
    resolution,
    fromMs: Math.max(bucketStart(resolution, range.fromMs), keptFrom[resolution]),
    toMs: Math.min(
      bucketStart(resolution, range.toMs + resolutionMs[resolution] - 1),
      bucketStart(resolution, nowMs),
    ),
  };
  const counted = of === "servers" ? countedFor(of, ["server_name"]) : countedFor(of, []);
  const read = async ({ region, key }: Target): Promise<TargetSeries> => {
    const { buckets } = await occupancy.open({ region: [region], key: [key] });
    const series = createSeries(resolutionMs[resolution]);
    for await (const some of buckets(bucketRange, counted))
      for (const { bucket } of some) series.add(bucket);
    return series;
  };

  const isOfServers = of === "servers";
  const status = isOfServers
    ? "sandbox_server_status_seconds_total"
    : "sandbox_status_seconds_total";
  yield familyHeader("openmetrics", status, isOfServers ? serverHelp : sandboxHelp, "counter");
  for (const target of targets.values()) {
    const { times, byServerName } = await read(target);
    for (const [name, counters] of byServerName) {
      for (const each of statuses) {
        const labels = { ...target, ...(isOfServers && { server_name: name }), status: each };
        yield samples(status, labels, times, counters[each]);
      }
    }
  }
  const unobserved = "sandbox_unobserved_seconds_total";
  yield familyHeader("openmetrics", unobserved, unobservedHelp, "counter");
  for (const target of targets.values()) {
    const { times, unobservedMs } = await read(target);
    yield samples(unobserved, { ...target }, times, unobservedMs);
  }
  yield endings.openmetrics;
}

type TargetSeries = ReturnType<typeof createSeries>;

/** Sums of a target in milliseconds, one for each of the times (UTC milliseconds). */
function createSeries(bucketMs: number) {
  const times: number[] = [];
  const unobservedMs: number[] = [];
  const byServerName = new Map<string, Readonly<Record<Status, number[]>>>();
  const addAt = (atMs: number, bucket: Bucket | null): void => {
    times.push(atMs);
    unobservedMs.push((unobservedMs.at(-1) ?? 0) + (bucket?.unobservedMs ?? 0));
    for (const [name, counters] of byServerName) {
      const ms = bucket?.names.get(name)?.ms;
      for (const status of statuses) {
        counters[status].push((counters[status].at(-1) ?? 0) + (ms?.[status] ?? 0));
      }
    }
  };
  return {
    times,
    unobservedMs,
    byServerName,
    add(bucket: Bucket): void {
      for (const name of bucket.names.keys()) {
        if (byServerName.has(name)) continue;
        byServerName.set(
          name,
          byStatus(() => times.map(() => 0)),
        );
      }
      // Where it begins, too: at first a 0, so that what it holds counts as an increase, and of its time.
      if (times.at(-1) !== bucket.startMs) addAt(bucket.startMs, null);
      addAt(bucket.startMs + bucketMs, bucket);
    },
  };
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
