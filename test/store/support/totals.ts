import type { Resolution } from "../../../src/core/occupancy/bucket.ts";
import { emptyServerSums } from "../../../src/core/occupancy/server-sums.ts";
import type { BucketTotal } from "../../../src/core/occupancy/server-sums.ts";
import type { Store } from "../../../src/store/store.ts";
import { collectSome } from "../../support/collect.ts";

/** What a bucket with all its names together holds. */
export function sumsOf(total: BucketTotal) {
  const { startMs, bookedMs, unobservedMs } = total;
  const sums = emptyServerSums();
  const mostOccupied = total.addTo(sums);
  const servers = { ms: sums.ms, unobservedMs: sums.unobservedMs, stays: sums.stays.toSketch() };
  return { startMs, bookedMs, unobservedMs, mostOccupied, servers };
}

/** All of a resolution, by start, then by target. */
export async function totalsIn(store: Store, resolution: Resolution) {
  const range = { resolution, fromMs: 0, toMs: Number.MAX_SAFE_INTEGER };
  const found = await collectSome(store.occupancy.totals(range));
  return found.map(({ target, total }) => ({ target, ...sumsOf(total) }));
}
