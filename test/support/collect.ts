import type { Counted, Resolution } from "../../src/fleet/buckets.ts";
import type { ReportSources } from "../../src/reports/report-sources.ts";
import type { TargetBucket, TargetFilter } from "../../src/store/occupancy-history.ts";

/** All of what comes one by one. */
export async function collect<T>(items: AsyncIterable<T>): Promise<T[]> {
  const all: T[] = [];
  for await (const item of items) all.push(item);
  return all;
}

/** All of what comes some at a time. */
export async function collectSome<T>(batches: AsyncIterable<Iterable<T>>): Promise<T[]> {
  const all: T[] = [];
  for await (const batch of batches) all.push(...batch);
  return all;
}

/** All buckets of a resolution, of some targets and some time. Default: of all. */
export async function bucketsIn(
  occupancy: ReportSources["occupancy"],
  {
    resolution,
    fromMs = 0,
    toMs = Number.MAX_SAFE_INTEGER,
    counted = "server_name",
    ...filter
  }: BucketQuery,
): Promise<readonly TargetBucket[]> {
  const { buckets } = await occupancy.open(filter);
  return collectSome(buckets({ resolution, fromMs, toMs }, counted));
}

export interface BucketQuery extends TargetFilter {
  readonly resolution: Resolution;
  readonly fromMs?: number;
  readonly toMs?: number;
  readonly counted?: Counted;
}
