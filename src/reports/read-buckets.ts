import type { Target } from "../core/model.ts";
import type { NameAccount } from "../core/occupancy/bucket.ts";
import { totalOfBucket } from "../core/occupancy/server-sums.ts";
import type { BucketTotal } from "../core/occupancy/server-sums.ts";
import type { BucketQuery, OccupancySource } from "./sources.ts";

/** A bucket as reports add it up. */
export interface BookedBucket {
  readonly target: Target;
  readonly total: BucketTotal;
  /** Null where nobody asks for names: to unpack them costs the most. */
  readonly names: ReadonlyMap<string, NameAccount> | null;
}

export async function* readBooked(
  occupancy: Pick<OccupancySource, "buckets" | "totals">,
  query: BucketQuery,
  byName: boolean,
): AsyncIterable<BookedBucket> {
  if (!byName) {
    for await (const { target, total } of occupancy.totals(query)) {
      yield { target, total, names: null };
    }
    return;
  }
  for await (const { target, bucket } of occupancy.buckets(query)) {
    yield { target, total: totalOfBucket(bucket), names: bucket.names };
  }
}
