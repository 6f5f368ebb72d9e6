import { targetName } from "../fleet/model.ts";
import type { Target } from "../fleet/model.ts";
import type { BucketExtent, WatchedTarget } from "./sources.ts";
import type { TimeRange } from "./time-range.ts";

/** A target as a report has it. */
export interface ReportedTarget {
  readonly target: Target;
  /** Up to when its time is told of. UTC milliseconds. */
  readonly untilMs: number;
}

export interface TargetFilter {
  /** Left out: any. */
  readonly region?: readonly string[];
  readonly key?: readonly string[];
}

/** A target whose last poll is older is not being watched any more, or by nobody. */
const mostBetweenPollsMs = 10 * 60_000;

/**
 * The targets that a report tells of: those that the configuration has, and those that it had as long
 * as they were watched. What came after the last poll of one is not booked yet, and is left out: only
 * where that was long ago nobody watches.
 */
export function selectTargets(
  watched: readonly WatchedTarget[],
  extents: readonly BucketExtent[],
  { range, filter, nowMs }: { range: TimeRange; filter: TargetFilter; nowMs: number },
): readonly ReportedTarget[] {
  const firstMs = new Map<string, number>();
  for (const extent of extents) {
    const name = targetName(extent.target);
    firstMs.set(name, Math.min(firstMs.get(name) ?? Infinity, extent.firstMs));
  }
  return watched
    .filter(({ target }) => isChosen(target, filter))
    .flatMap(({ target, isConfigured, lastPollAtMs }) => {
      if (isConfigured) return [{ target, untilMs: untilOf(lastPollAtMs, nowMs) }];
      const begunMs = firstMs.get(targetName(target)) ?? Infinity;
      const isIn = lastPollAtMs !== null && lastPollAtMs > range.fromMs && begunMs < range.toMs;
      return isIn ? [{ target, untilMs: lastPollAtMs }] : [];
    })
    .toSorted((one, other) => (targetName(one.target) < targetName(other.target) ? -1 : 1));
}

function untilOf(lastPollAtMs: number | null, nowMs: number): number {
  return lastPollAtMs !== null && nowMs - lastPollAtMs <= mostBetweenPollsMs ? lastPollAtMs : nowMs;
}

export function isChosen(target: Target, { region, key }: TargetFilter): boolean {
  return (region?.includes(target.region) ?? true) && (key?.includes(target.key) ?? true);
}

/** How a report speaks of its targets: by their places in it. */
export function numberTargets(targets: readonly ReportedTarget[]): ReadonlyMap<string, number> {
  return new Map(targets.map(({ target }, number) => [targetName(target), number]));
}
