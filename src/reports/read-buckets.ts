import type { Target } from "../core/model.ts";
import type { NameAccount } from "../core/occupancy/bucket.ts";
import { totalOfBucket } from "../core/occupancy/server-sums.ts";
import type { BucketTotal } from "../core/occupancy/server-sums.ts";
import type { BucketQuery, OccupancySource, TargetBucket } from "./sources.ts";

/** A bucket as reports add it up. */
export interface BookedBucket {
  readonly target: Target;
  readonly total: BucketTotal;
  /** Left out where nobody asks for names: to unpack them costs the most. */
  readonly names?: ReadonlyMap<string, NameAccount>;
}

export async function* readBooked(
  occupancy: Pick<OccupancySource, "buckets" | "totals">,
  query: BucketQuery,
  byName: boolean,
): AsyncIterable<Iterable<BookedBucket>> {
  if (byName) {
    for await (const some of occupancy.buckets(query)) yield Iterator.from(some).map(withNames);
  } else {
    yield* occupancy.totals(query);
  }
}

const withNames = ({ target, bucket }: TargetBucket): BookedBucket => ({
  target,
  total: totalOfBucket(bucket),
  names: bucket.names,
});
