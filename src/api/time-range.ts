import { z } from "zod";
import { RefusedError } from "../lib/refusal.ts";
import { isRangeFault, readTimeRange } from "../reports/time-range.ts";
import type { TimeContext, TimeRange, WrittenRange } from "../reports/time-range.ts";
import { openZone, utc } from "../reports/zone.ts";
import type { Zone } from "../reports/zone.ts";

const zoneAllowed = "a time zone such as UTC, Europe/Berlin or +05:30";

/** The time zone of a request's times, days and hours. */
export const zoneText = z
  .string()
  .default(utc.name)
  .transform((name, context): Zone => {
    const zone = openZone(name);
    if (zone) return zone;
    context.addIssue({ code: "custom", message: zoneAllowed });
    return z.NEVER;
  });

/** @throws {RefusedError} when it is not a range */
export function readRange(written: WrittenRange, context: TimeContext): TimeRange {
  const range = readTimeRange(written, context);
  if (!isRangeFault(range)) return range;
  const { field: path, allowed } = range;
  throw new RefusedError("invalid", `The request cannot be used. Allowed: ${path}: ${allowed}`, [
    { path, allowed },
  ]);
}
