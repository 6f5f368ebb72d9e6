import { bucketStart, coarserThan, resolutionMs, resolutions } from "../fleet/buckets.ts";
import type { Resolution } from "../fleet/buckets.ts";
import { targetName, type Target } from "../fleet/model.ts";
import type { BucketExtent, TargetFilter } from "../store/occupancy-history.ts";
import type { ReportSources, WatchedTarget } from "./report-sources.ts";
import type { TimeRange } from "./time-range.ts";

/** A target in a report. */
export interface ReportedTarget {
  readonly target: Target;
  /** Up to when its time is reported. UTC milliseconds. */
  readonly untilMs: number;
}

/** A target whose last poll is older is not being watched any more. */
export const mostBetweenPollsMs = 10 * 60_000;

/**
 * The targets of a report: those that the configuration has, and those that it had as long as they were watched. What
 * came after the last poll of one is not recorded yet, and is not reported: unless that poll was long ago.
 */
export function selectTargets(
  watched: readonly WatchedTarget[],
  extents: readonly BucketExtent[],
  { range, filter, nowMs }: { range: TimeRange; filter: TargetFilter; nowMs: number },
): readonly ReportedTarget[] {
  const extentsOf = Map.groupBy(extents, ({ target }) => targetName(target));
  return watched
    .filter(({ target }) => isChosen(target, filter))
    .flatMap(({ target, isConfigured, lastPollAtMs }) => {
      if (isConfigured) {
        const isRecent = lastPollAtMs !== null && nowMs - lastPollAtMs <= mostBetweenPollsMs;
        return [{ target, untilMs: isRecent ? lastPollAtMs : nowMs }];
      }
      const firstMs = beginningOf(extentsOf.get(targetName(target)) ?? []);
      const isIn = lastPollAtMs !== null && lastPollAtMs > range.fromMs && firstMs < range.toMs;
      return isIn ? [{ target, untilMs: lastPollAtMs }] : [];
    })
    .toSorted((one, other) => (targetName(one.target) < targetName(other.target) ? -1 : 1));
}

export function isChosen(target: Target, { region, key }: TargetFilter): boolean {
  return (region?.includes(target.region) ?? true) && (key?.includes(target.key) ?? true);
}

/** From when on there are buckets of each resolution. UTC milliseconds; -Infinity: from the beginning. */
export type KeptFrom = Readonly<Record<Resolution, number>>;

/**
 * From when on every target's buckets of a resolution are there, as far as it has any. The first poll
 * of a target began one of each: where the finer ones begin after the first coarser one is over, those
 * before were removed.
 */
export function keptFromOf(extents: readonly BucketExtent[]): KeptFrom {
  const kept: Record<Resolution, number> = { "5m": -Infinity, "1h": -Infinity, "1d": -Infinity };
  for (const ofTarget of Map.groupBy(extents, ({ target }) => targetName(target)).values()) {
    const extentOf = new Map(ofTarget.map((extent) => [extent.resolution, extent]));
    for (const finer of resolutions) {
      const first = extentOf.get(finer)?.firstMs;
      for (const coarser of coarserThan(finer)) {
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

/**
 * When a target was first recorded, as far as its buckets show. Infinity: it never was.
 *
 * @param extents of the target
 */
export function beginningOf(extents: readonly BucketExtent[]): number {
  let begunMs = Math.min(Infinity, ...extents.map(({ firstMs }) => firstMs));
  for (const resolution of resolutions.toReversed()) {
    const first = extents.find((extent) => extent.resolution === resolution)?.firstMs;
    const [coarser = resolution] = coarserThan(resolution);
    if (first !== undefined && bucketStart(coarser, first) <= begunMs) {
      begunMs = Math.max(begunMs, first);
    }
  }
  return begunMs;
}

/** What is known of the time of a target. */
export interface TargetTime extends TimeRange {
  /** What was unobserved, in order. */
  readonly gaps: readonly TimeRange[];
  /** How much of any stretch was unobserved. */
  readonly gapMs: (fromMs: number, toMs: number) => number;
}

/** Before a target was first recorded nothing is known of its servers, nor after its last poll. */
export async function readTargetTimes(
  sources: Pick<ReportSources, "occupancy">,
  range: TimeRange,
  targets: readonly (ReportedTarget & { readonly lastPollAtMs: number | null })[],
  extents: readonly BucketExtent[],
): Promise<ReadonlyMap<string, TargetTime>> {
  const extentsOf = Map.groupBy(extents, ({ target }) => targetName(target));
  const times = new Map<string, TargetTime>();
  for (const { target, untilMs, lastPollAtMs } of targets) {
    const { fromMs } = range;
    const toMs = Math.max(fromMs, Math.min(range.toMs, untilMs));
    const begunMs = Math.min(beginningOf(extentsOf.get(targetName(target)) ?? []), toMs);
    const watchedFromMs = Math.max(begunMs, fromMs);
    const watchedToMs = Math.max(watchedFromMs, Math.min(lastPollAtMs ?? fromMs, toMs));
    const gaps = [{ fromMs, toMs: watchedFromMs }];
    const watched = { target, fromMs: watchedFromMs, toMs: watchedToMs };
    for await (const gap of sources.occupancy.gaps(watched)) gaps.push(gap);
    gaps.push({ fromMs: watchedToMs, toMs });
    times.set(targetName(target), { fromMs, toMs, gaps, gapMs: gapTimes(gaps) });
  }
  return times;
}

/** @param gaps in order; none overlaps another */
function gapTimes(gaps: readonly TimeRange[]): TargetTime["gapMs"] {
  /** Of all gaps before each one. */
  const before: number[] = [];
  let sumMs = 0;
  for (const { fromMs, toMs } of gaps) {
    before.push(sumMs);
    sumMs += toMs - fromMs;
  }
  const upTo = (atMs: number): number => {
    // The last one that begins by then, by bisection.
    let [low, high] = [-1, gaps.length - 1];
    while (low < high) {
      const middle = Math.ceil((low + high) / 2);
      if ((gaps[middle]?.fromMs ?? 0) <= atMs) low = middle;
      else high = middle - 1;
    }
    const last = gaps[low];
    return last ? (before[low] ?? 0) + Math.min(atMs, last.toMs) - last.fromMs : 0;
  };
  return (fromMs, toMs) => upTo(toMs) - upTo(fromMs);
}
