import { addServerTimes, noServerTimes } from "../../fleet/totals.ts";
import type { ServerTimes } from "../../fleet/totals.ts";
import { countByStatus } from "../../fleet/tallies.ts";
import type { OccupancySource } from "../sources.ts";
import type { TargetFilter } from "../targets.ts";
import type { Week } from "./forecast.ts";

export const dayMs = 24 * 60 * 60_000;
export const weekMs = 7 * dayMs;

/** No forecast looks back further. */
const mostWeeks = 12;

/** The last whole weeks up to the beginning of today in UTC, the latest last. */
export async function readWeeks(
  occupancy: Pick<OccupancySource, "totals">,
  nowMs: number,
  filter: TargetFilter,
): Promise<readonly Week[]> {
  const toMs = Math.floor(nowMs / dayMs) * dayMs;
  const fromMs = toMs - mostWeeks * weekMs;
  const weeks: ServerTimes[] = Array.from({ length: mostWeeks }, () => noServerTimes);
  const days = Array.from({ length: mostWeeks }, () => new Set<number>());
  const range = { resolution: "1d", fromMs, toMs, ...filter } as const;
  for await (const some of occupancy.totals(range)) {
    for (const { total } of some) {
      const week = Math.floor((total.startMs - fromMs) / weekMs);
      days[week]?.add(total.startMs);
      const sums = weeks[week];
      if (sums) weeks[week] = addServerTimes(sums, total.servers);
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
