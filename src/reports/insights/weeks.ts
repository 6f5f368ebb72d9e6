import { addAccount, emptyAccount } from "../../fleet/buckets.ts";
import { countByStatus } from "../../fleet/tallies.ts";
import type { OccupancyHistory } from "../sources.ts";
import type { TargetFilter } from "../targets.ts";
import type { Week } from "./forecast.ts";

export const dayMs = 24 * 60 * 60_000;
export const weekMs = 7 * dayMs;

/** No forecast looks back further. */
const mostWeeks = 12;

/** The last whole weeks up to the beginning of today in UTC, the latest last. */
export async function readWeeks(
  occupancy: Pick<OccupancyHistory, "buckets">,
  nowMs: number,
  filter: TargetFilter,
): Promise<readonly Week[]> {
  const toMs = Math.floor(nowMs / dayMs) * dayMs;
  const fromMs = toMs - mostWeeks * weekMs;
  const weeks = Array.from({ length: mostWeeks }, () => emptyAccount);
  const days = Array.from({ length: mostWeeks }, () => new Set<number>());
  const range = { resolution: "1d", fromMs, toMs, byName: false, ...filter } as const;
  for await (const some of occupancy.buckets(range)) {
    for (const { bucket } of some) {
      const week = Math.floor((bucket.startMs - fromMs) / weekMs);
      days[week]?.add(bucket.startMs);
      for (const account of bucket.names.values()) {
        weeks[week] = addAccount(weeks[week] ?? emptyAccount, account);
      }
    }
  }
  return weeks.map(({ ms, unobservedMs }, week) => {
    const watchedMs = countByStatus(ms);
    const wholeMs = watchedMs + unobservedMs;
    return {
      occupiedShare: watchedMs === 0 ? null : ms.occupied / watchedMs,
      // Of a day without a bucket nothing is known.
      observedShare: wholeMs === 0 ? 0 : (watchedMs / wholeMs) * ((days[week]?.size ?? 0) / 7),
    };
  });
}
