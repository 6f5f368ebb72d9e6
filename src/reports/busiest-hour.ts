import { countByStatus, type CountByStatus } from "../fleet/tallies.ts";
import { bucketStart } from "../fleet/buckets.ts";
import { hasHoursOfUtc } from "../lib/zone-offset.ts";
import type { OccupancyReader } from "../store/occupancy-history.ts";
import { weekdays } from "./calendar-cells.ts";
import { countedFor, type ReportedKind } from "./report-fields.ts";
import type { TimeRange } from "./time-range.ts";
import { toLocal, type Zone } from "./zone.ts";

const hourMs = 60 * 60_000;
const hoursOfWeek = 7 * 24;

/**
 * The hour of the week, as a zone's clocks show it, with the largest occupied share of observed time, and in how many weeks
 * it was observed. Null: not even one whole week was observed, so that hours cannot be compared.
 */
export async function readBusiestHour(
  { keptFrom, buckets }: OccupancyReader,
  { of, range, zone }: { of: ReportedKind; range: TimeRange; zone: Zone },
) {
  const hours = createHoursOfWeek(zone);
  const isWhole = hasHoursOfUtc((atMs) => zone.offsetMs(atMs), range.fromMs, range.toMs);
  const finer = (["15m", "5m"] as const).find((each) => keptFrom[each] <= range.fromMs);
  // Where nothing finer is kept, an hour of UTC counts for the hour in which it begins.
  const resolution = isWhole || finer === undefined ? "1h" : finer;
  const fromMs = bucketStart(resolution, range.fromMs);
  for await (const some of buckets({ ...range, resolution, fromMs }, countedFor(of, []))) {
    for (const { bucket } of some) {
      for (const { ms } of bucket.names.values()) hours.add(bucket.startMs, ms);
    }
  }
  return hours.busiest();
}

/** Adds up the hours of a week. */
function createHoursOfWeek(zone: Zone) {
  const occupiedMs = new Float64Array(hoursOfWeek);
  const observedMs = new Float64Array(hoursOfWeek);
  const weeks = Array.from({ length: hoursOfWeek }, () => new Set<number>());
  return {
    /** @param startMs of the bucket that the sums are of. UTC milliseconds */
    add(startMs: number, sumsMs: CountByStatus): void {
      const ms = countByStatus(sumsMs);
      if (ms === 0) return;
      // The first of January 1970 was a Thursday.
      const hours = Math.floor(toLocal(zone, startMs) / hourMs) + 3 * 24;
      const hour = hours % hoursOfWeek;
      occupiedMs[hour] = (occupiedMs[hour] ?? 0) + sumsMs.occupied;
      observedMs[hour] = (observedMs[hour] ?? 0) + ms;
      weeks[hour]?.add(Math.floor(hours / hoursOfWeek));
    },
    busiest() {
      if (weeks.some(({ size }) => size === 0)) return null;
      const shares = Array.from(occupiedMs, (ms, hour) => ms / (observedMs[hour] ?? 0));
      const hour = shares.indexOf(Math.max(...shares));
      return {
        weekday: weekdays[Math.floor(hour / 24)] ?? "Mon",
        hour: hour % 24,
        occupiedShare: shares[hour] ?? 0,
        weeks: weeks[hour]?.size ?? 0,
      };
    },
  };
}
