import { z } from "zod";
import { countDwells, meanDwellMs, dwellQuantileMs } from "../fleet/dwell.ts";
import { reportFields } from "./fields.ts";
import type { ReportField } from "./fields.ts";
import { serverMsOfRow, sharesOf } from "./row.ts";
import type { ReportRow } from "./row.ts";

/** A report as it goes over the wire, and as it is printed. */

const share = z.number().nullable();
const seconds = z.number();
const nullableSeconds = z.number().nullable();

const measures = z.object({
  /** Parts of the servers' time, from 0 to 1. Null: there were no servers. */
  occupied_share: share,
  idle_share: share,
  error_share: share,
  unknown_share: share,
  unobserved_share: share,
  /** Of servers: two for a second make two. */
  server_seconds: seconds,
  occupied_seconds: seconds,
  idle_seconds: seconds,
  error_seconds: seconds,
  unknown_seconds: seconds,
  unobserved_seconds: seconds,
  /** Of servers that were occupied, while they were watched. Null: nobody watched. */
  occupied_average: z.number().nullable(),
  occupied_peak: z.number().nullable(),
  /** False: there were at most so many. */
  occupied_peak_exact: z.boolean().nullable(),
  /** While occupied. */
  stays: z.number(),
  stay_mean_seconds: nullableSeconds,
  stay_median_seconds: nullableSeconds,
  stay_p95_seconds: nullableSeconds,
  incidents: z.number(),
  recoveries: z.number(),
  recovery_mean_seconds: nullableSeconds,
});

/** In the order of columns. */
export const measureNames = measures.keyof().options;

const label = z.string().optional();

/** What a row is of: those of these fields that the report is by. */
const labels = z.object({
  region: label,
  key: label,
  server_name: label,
  sandbox: label,
  server: label,
  hour: label,
  day: label,
  weekday: label,
} satisfies Record<ReportField, z.ZodType>);

export const rowView = labels.extend(measures.shape);
export type RowView = z.output<typeof rowView>;

export const occupancyView = z.object({
  from: z.string(),
  to: z.string(),
  tz: z.string(),
  by: z.array(z.enum(reportFields)).readonly(),
  rows: z.array(rowView).readonly(),
  /** What is not as one might think. */
  notes: z.array(z.string()).readonly(),
  /** `cursor` of the request for what follows; null: that is all. */
  next: z.string().nullable(),
});
export type OccupancyView = z.output<typeof occupancyView>;

export function viewRow(row: ReportRow): RowView {
  const { group, ms, unobservedMs, occupiedAverage, occupiedPeak, dwells, recoveries } = row;
  const shares = sharesOf(row);
  const shown = reportFields.flatMap((field) => {
    const value = group[field];
    return value === undefined ? [] : [[field, value]];
  });
  return {
    ...Object.fromEntries(shown),
    occupied_share: shares?.occupied ?? null,
    idle_share: shares?.idle ?? null,
    error_share: shares?.error ?? null,
    unknown_share: shares?.unknown ?? null,
    unobserved_share: shares?.unobserved ?? null,
    server_seconds: toSeconds(serverMsOfRow(row)),
    occupied_seconds: toSeconds(ms.occupied),
    idle_seconds: toSeconds(ms.idle),
    error_seconds: toSeconds(ms.error),
    unknown_seconds: toSeconds(ms.unknown),
    unobserved_seconds: toSeconds(unobservedMs),
    occupied_average: occupiedAverage,
    occupied_peak: occupiedPeak?.count ?? null,
    occupied_peak_exact: occupiedPeak?.isExact ?? null,
    stays: countDwells(dwells),
    stay_mean_seconds: toSecondsOrNull(meanDwellMs(dwells)),
    stay_median_seconds: toSecondsOrNull(dwellQuantileMs(dwells, 0.5)),
    stay_p95_seconds: toSecondsOrNull(dwellQuantileMs(dwells, 0.95)),
    incidents: row.incidents,
    recoveries: recoveries.count,
    recovery_mean_seconds:
      recoveries.count === 0 ? null : toSeconds(recoveries.ms / recoveries.count),
  };
}

/** To the millisecond. */
export function toSeconds(ms: number): number {
  return Math.round(ms) / 1_000;
}

function toSecondsOrNull(ms: number | null): number | null {
  return ms === null ? null : toSeconds(ms);
}
