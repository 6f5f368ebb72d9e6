import type { Target } from "../core/model.ts";
import type { NameAccount } from "../fleet/buckets.ts";
import { totalOfBucket } from "../fleet/totals.ts";
import type { BucketTotal } from "../fleet/totals.ts";
import type { BucketQuery, OccupancySource, TargetBucket } from "./sources.ts";

/** A bucket as reports add it up. */
export interface RecordedBucket {
  readonly target: Target;
  readonly total: BucketTotal;
  /** Left out where nobody asks for names: to unpack them costs the most. */
  readonly names?: ReadonlyMap<string, NameAccount>;
}

export async function* readRecorded(
  occupancy: Pick<OccupancySource, "buckets" | "totals">,
  query: BucketQuery,
  byName: boolean,
): AsyncIterable<Iterable<RecordedBucket>> {
  if (byName) {
    for await (const some of occupancy.buckets(query)) yield Iterator.from(some).map(withNames);
  } else {
    yield* occupancy.totals(query);
  }
}

const withNames = ({ target, bucket }: TargetBucket): RecordedBucket => ({
  target,
  total: totalOfBucket(bucket),
  names: bucket.names,
});
