import { targetName } from "../fleet/model.ts";
import { readGapTimes } from "./gap-times.ts";
import type { GapTimes } from "./gap-times.ts";
import { beginningOf } from "./kept.ts";
import type { BucketExtent, ReportSources } from "./sources.ts";
import type { ReportedTarget } from "./targets.ts";
import type { TimeRange } from "./time-range.ts";

/** What is known of the time of a target. */
export interface TargetTime extends TimeRange {
  readonly gapMs: GapTimes;
}

export interface TargetTimesQuery {
  readonly range: TimeRange;
  readonly targets: readonly ReportedTarget[];
  /** When each of them was last polled. */
  readonly lastPolls: readonly (number | null)[];
  readonly extents: readonly BucketExtent[];
  readonly sources: Pick<ReportSources, "occupancy">;
}

/** Before a target was first booked nothing is known of its servers, nor after its last poll. */
export async function readTargetTimes({
  range,
  targets,
  lastPolls,
  extents,
  sources,
}: TargetTimesQuery): Promise<ReadonlyMap<string, TargetTime>> {
  const times = new Map<string, TargetTime>();
  for (const [index, { target, untilMs }] of targets.entries()) {
    const toMs = Math.max(range.fromMs, Math.min(range.toMs, untilMs));
    const begunMs = Math.min(beginningOf(target, extents), toMs);
    const lastPollMs = lastPolls[index] ?? range.fromMs;
    async function* gaps(): AsyncIterable<TimeRange> {
      const watchedFromMs = Math.max(begunMs, range.fromMs);
      const watchedToMs = Math.max(watchedFromMs, Math.min(lastPollMs, toMs));
      if (begunMs > range.fromMs) yield { fromMs: range.fromMs, toMs: begunMs };
      if (watchedToMs > watchedFromMs) {
        yield* sources.occupancy.gaps({ target, fromMs: watchedFromMs, toMs: watchedToMs });
      }
      if (toMs > watchedToMs) yield { fromMs: watchedToMs, toMs };
    }
    times.set(targetName(target), {
      fromMs: range.fromMs,
      toMs,
      gapMs: await readGapTimes(gaps()),
    });
  }
  return times;
}
