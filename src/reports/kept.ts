import { targetName } from "../fleet/model.ts";
import type { Target } from "../fleet/model.ts";
import { bucketStart, resolutionMs, resolutions } from "../fleet/buckets.ts";
import type { Resolution } from "../fleet/buckets.ts";
import type { KeptFrom } from "./plan.ts";
import type { BucketExtent, ReportSources } from "./sources.ts";
import type { TargetFilter } from "./targets.ts";

/**
 * From when on every target's buckets of a resolution are there, as far as it has any. The first poll
 * of a target began one of each: where the finer ones begin after the first coarser one is over, those
 * before were removed.
 */
export function keptFromOf(extents: readonly BucketExtent[]): KeptFrom {
  const kept: Record<Resolution, number> = { "5m": -Infinity, "1h": -Infinity, "1d": -Infinity };
  const byTarget = Map.groupBy(extents, ({ target }) => targetName(target));
  for (const ofTarget of byTarget.values()) {
    const extentOf = new Map(ofTarget.map((extent) => [extent.resolution, extent]));
    for (const [index, finer] of resolutions.entries()) {
      const first = extentOf.get(finer)?.firstMs;
      for (const coarser of resolutions.slice(index + 1)) {
        const extent = extentOf.get(coarser);
        if (!extent) continue;
        const isPruned = first === undefined || first >= extent.firstMs + resolutionMs[coarser];
        const fromMs = first ?? extent.lastMs + resolutionMs[coarser];
        if (isPruned) kept[finer] = Math.max(kept[finer], fromMs);
      }
    }
  }
  return kept;
}

/** When a target was first booked, as far as the buckets tell. Infinity: it never was. */
export function beginningOf(target: Target, extents: readonly BucketExtent[]): number {
  const ofTarget = extents.filter(
    (extent) => extent.target.region === target.region && extent.target.key === target.key,
  );
  let begunMs = Math.min(Infinity, ...ofTarget.map(({ firstMs }) => firstMs));
  for (const resolution of resolutions.toReversed()) {
    const first = ofTarget.find((extent) => extent.resolution === resolution)?.firstMs;
    const isWithin = first !== undefined && bucketStart(coarserThan(resolution), first) <= begunMs;
    if (isWithin) begunMs = Math.max(begunMs, first);
  }
  return begunMs;
}

function coarserThan(resolution: Resolution): Resolution {
  return resolutions[resolutions.indexOf(resolution) + 1] ?? resolution;
}

/** When the first change was kept. -Infinity: none is. */
export async function firstChangeMs(
  { changes }: Pick<ReportSources, "changes">,
  filter: TargetFilter,
): Promise<number> {
  const all = {
    fromMs: 0,
    toMs: Number.MAX_SAFE_INTEGER,
    direction: "asc",
    observations: true,
  } as const;
  for await (const { atMs } of changes.between({ ...all, ...filter })) return atMs;
  return -Infinity;
}
