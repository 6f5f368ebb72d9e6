import { partOfUnobserved, resolutionMs } from "../../../src/fleet/buckets.ts";
import type { Bucket, Resolution } from "../../../src/fleet/buckets.ts";

/** As a store gives it back. */
export function copyBucket(bucket: Bucket): Bucket {
  return { ...bucket, names: new Map(bucket.names) };
}

/** The finer buckets that one stands for which passed as a whole without being observed. */
export function partsOfUnobserved(
  bucket: Bucket,
  from: Resolution,
  to: Resolution,
): readonly Bucket[] {
  const part = partOfUnobserved(bucket, from, to);
  if (!part) return [];
  return Array.from({ length: resolutionMs[from] / resolutionMs[to] }, (_, index) => ({
    ...part,
    startMs: bucket.startMs + index * resolutionMs[to],
  }));
}
