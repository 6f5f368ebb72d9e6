import { targetName, type Target } from "../fleet/model.ts";
import type { RecordedTarget, TargetFilter } from "../store/occupancy-history.ts";
import type { WatchedTarget } from "./report-sources.ts";
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
  recorded: readonly RecordedTarget[],
  { range, filter, nowMs }: { range: TimeRange; filter: TargetFilter; nowMs: number },
): readonly ReportedTarget[] {
  const begunMs = beginnings(recorded);
  return watched
    .filter(({ target }) => isChosen(target, filter))
    .flatMap(({ target, isConfigured, lastPollAtMs }) => {
      if (isConfigured) {
        const isRecent = lastPollAtMs !== null && nowMs - lastPollAtMs <= mostBetweenPollsMs;
        return [{ target, untilMs: isRecent ? lastPollAtMs : nowMs }];
      }
      const firstMs = begunMs.get(targetName(target)) ?? Infinity;
      const isIn = lastPollAtMs !== null && lastPollAtMs > range.fromMs && firstMs < range.toMs;
      return isIn ? [{ target, untilMs: lastPollAtMs }] : [];
    })
    .toSorted((one, other) => (targetName(one.target) < targetName(other.target) ? -1 : 1));
}

export function isChosen(target: Target, { region, key }: TargetFilter): boolean {
  return (region?.includes(target.region) ?? true) && (key?.includes(target.key) ?? true);
}

/** When each target was first polled. */
function beginnings(recorded: readonly RecordedTarget[]): ReadonlyMap<string, number> {
  return new Map(recorded.map(({ target, fromMs }) => [targetName(target), fromMs]));
}
