import { countByStatus } from "../../fleet/tallies.ts";
import type { CountByStatus } from "../../fleet/tallies.ts";
import { weekdays } from "../cells.ts";
import { toLocal } from "../zone.ts";
import type { Zone } from "../zone.ts";

const hourMs = 60 * 60_000;
const hoursOfWeek = 7 * 24;

/** Of the hours of the week the one in which the most of the servers' watched time was occupied. */
export interface BusiestHour {
  readonly weekday: (typeof weekdays)[number];
  /** From 0 to 23. */
  readonly hour: number;
  readonly occupiedShare: number;
  /** In how many weeks that hour was watched at all. */
  readonly weeks: number;
}

/** Adds up the hours of a week, as a zone's clocks show them. */
export function createHoursOfWeek(zone: Zone) {
  const occupiedMs = new Float64Array(hoursOfWeek);
  const watchedMs = new Float64Array(hoursOfWeek);
  const weeks = Array.from({ length: hoursOfWeek }, () => new Set<number>());
  return {
    /** @param startMs of the hour that the sums are of. UTC milliseconds */
    add(startMs: number, sumsMs: CountByStatus): void {
      const ms = countByStatus(sumsMs);
      if (ms === 0) return;
      // The first of January 1970 was a Thursday.
      const hours = Math.floor(toLocal(zone, startMs) / hourMs) + 3 * 24;
      const hour = hours % hoursOfWeek;
      occupiedMs[hour] = (occupiedMs[hour] ?? 0) + sumsMs.occupied;
      watchedMs[hour] = (watchedMs[hour] ?? 0) + ms;
      weeks[hour]?.add(Math.floor(hours / hoursOfWeek));
    },
    /** Null: not even one whole week was watched, so that hours cannot be compared. */
    busiest(): BusiestHour | null {
      if (weeks.some(({ size }) => size === 0)) return null;
      const shares = Array.from(occupiedMs, (ms, hour) => ms / (watchedMs[hour] ?? 0));
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
