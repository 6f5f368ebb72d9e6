import { noOpenBuckets } from "../../../src/fleet/accounting.ts";
import type { BucketWrite, OpenBuckets } from "../../../src/fleet/accounting.ts";
import {
  addBucket,
  bucketStart,
  emptyBucket,
  partOfUnobserved,
  resolutionMs,
  resolutions,
} from "../../../src/fleet/buckets.ts";
import type { Bucket, Resolution } from "../../../src/fleet/buckets.ts";

/** A target's buckets as they were written, on paper instead of in a store. */
export interface WrittenBuckets {
  write(written: readonly BucketWrite[]): void;
  ofResolution(resolution: Resolution): readonly Bucket[];
  /** What a process that starts goes on from. */
  open(): OpenBuckets;
  /** The buckets of a resolution, also those that were not written, with what the open ones hold. */
  whole(resolution: Resolution): readonly Bucket[];
}

export function createWrittenBuckets(): WrittenBuckets {
  const rows = new Map<string, BucketWrite>();
  const ofResolution = (wanted: Resolution): readonly Bucket[] =>
    [...rows.values()]
      .filter(({ resolution }) => resolution === wanted)
      .map(({ bucket }) => bucket)
      .toSorted((one, other) => one.startMs - other.startMs);
  const latest = (resolution: Resolution): Bucket | null => ofResolution(resolution).at(-1) ?? null;
  return {
    write(written) {
      for (const { resolution, bucket } of written) {
        rows.set(`${resolution} ${bucket.startMs}`, {
          resolution,
          bucket: { ...bucket, names: new Map(bucket.names) },
        });
      }
    },
    ofResolution,
    open: () =>
      rows.size === 0
        ? noOpenBuckets
        : { "5m": latest("5m"), "1h": latest("1h"), "1d": latest("1d") },
    whole(resolution) {
      const at = resolutions.indexOf(resolution);
      const unobserved = resolutions
        .slice(at + 1)
        .toReversed()
        .flatMap((from) => {
          const finer = resolutions.slice(at, resolutions.indexOf(from)).flatMap(ofResolution);
          const begun = new Set(finer.map(({ startMs }) => bucketStart(from, startMs)));
          return ofResolution(from)
            .filter(({ startMs }) => !begun.has(startMs))
            .flatMap((bucket) => partsOfUnobserved(bucket, from, resolution));
        });
      const all = new Map(
        [...unobserved, ...ofResolution(resolution)].map((bucket) => [bucket.startMs, bucket]),
      );
      for (const finer of resolutions.slice(0, at)) {
        const open = latest(finer);
        if (!open) continue;
        const startMs = bucketStart(resolution, open.startMs);
        all.set(startMs, addBucket(all.get(startMs) ?? emptyBucket(startMs), open));
      }
      return [...all.values()].toSorted((one, other) => one.startMs - other.startMs);
    },
  };
}

/** The finer buckets that one stands for which passed as a whole without being observed. */
function partsOfUnobserved(bucket: Bucket, from: Resolution, to: Resolution): readonly Bucket[] {
  const part = partOfUnobserved(bucket, from, to);
  if (!part) return [];
  return Array.from({ length: resolutionMs[from] / resolutionMs[to] }, (_, index) => ({
    ...part,
    startMs: bucket.startMs + index * resolutionMs[to],
  }));
}
