import { targetName, type Target } from "../fleet/model.ts";
import type { RecordedTarget, TargetFilter } from "../store/occupancy-history.ts";
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
  recorded: readonly RecordedTarget[],
): Promise<ReadonlyMap<string, TargetTime>> {
  const firsts = beginnings(recorded);
  const times = new Map<string, TargetTime>();
  for (const { target, untilMs, lastPollAtMs } of targets) {
    const { fromMs } = range;
    const toMs = Math.max(fromMs, Math.min(range.toMs, untilMs));
    const begunMs = Math.min(firsts.get(targetName(target)) ?? Infinity, toMs);
    const watchedFromMs = Math.max(begunMs, fromMs);
    const watchedToMs = Math.max(watchedFromMs, Math.min(lastPollAtMs ?? fromMs, toMs));
    const gaps = [{ fromMs, toMs: watchedFromMs }];
    const watched = { target, fromMs: watchedFromMs, toMs: watchedToMs };
    gaps.push(...(await sources.occupancy.gaps(watched)));
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
