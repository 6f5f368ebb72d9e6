import type { Extent, NameAccount } from "../fleet/buckets.ts";
import { noDwells } from "../fleet/dwell.ts";
import type { DwellHistogram } from "../fleet/dwell.ts";

/** The columns of `occupancy` that hold a dwell-time histogram's counts, in the order of its bounds. */
export const dwellColumns = [
  "dwell_to_10s",
  "dwell_to_30s",
  "dwell_to_1m",
  "dwell_to_2m",
  "dwell_to_5m",
  "dwell_to_15m",
  "dwell_to_30m",
  "dwell_to_1h",
  "dwell_to_2h",
  "dwell_to_4h",
  "dwell_to_12h",
  "dwell_to_1d",
  "dwell_to_7d",
  "dwell_over_7d",
] as const;

type DwellColumn = (typeof dwellColumns)[number];

export interface ExtentColumns {
  readonly idle_least: number | null;
  readonly idle_most: number | null;
  readonly occupied_least: number | null;
  readonly occupied_most: number | null;
  readonly error_least: number | null;
  readonly error_most: number | null;
  readonly unknown_least: number | null;
  readonly unknown_most: number | null;
}

export interface DwellColumns extends Readonly<Record<DwellColumn, number>> {
  readonly dwell_ms: number;
}

/** What of a row of `occupancy` can be summed over names. */
export interface SumColumns extends DwellColumns {
  readonly idle_ms: number;
  readonly occupied_ms: number;
  readonly error_ms: number;
  readonly unknown_ms: number;
  readonly unobserved_ms: number;
}

/** What a row of `occupancy` holds beside its key. */
export interface AccountColumns extends ExtentColumns, SumColumns {
  readonly exhausted_ms: number;
}

export function extentToColumns(extent: Extent | null): ExtentColumns {
  return {
    idle_least: extent?.least.idle ?? null,
    idle_most: extent?.most.idle ?? null,
    occupied_least: extent?.least.occupied ?? null,
    occupied_most: extent?.most.occupied ?? null,
    error_least: extent?.least.error ?? null,
    error_most: extent?.most.error ?? null,
    unknown_least: extent?.least.unknown ?? null,
    unknown_most: extent?.most.unknown ?? null,
  };
}

export function extentFromColumns(row: ExtentColumns): Extent | null {
  if (row.idle_least === null) return null;
  return {
    least: {
      idle: row.idle_least,
      occupied: row.occupied_least ?? 0,
      error: row.error_least ?? 0,
      unknown: row.unknown_least ?? 0,
    },
    most: {
      idle: row.idle_most ?? 0,
      occupied: row.occupied_most ?? 0,
      error: row.error_most ?? 0,
      unknown: row.unknown_most ?? 0,
    },
  };
}

export function accountToColumns(account: NameAccount): AccountColumns {
  const { ms, dwells } = account;
  const [
    to10s = 0,
    to30s = 0,
    to1m = 0,
    to2m = 0,
    to5m = 0,
    to15m = 0,
    to30m = 0,
    to1h = 0,
    to2h = 0,
    to4h = 0,
    to12h = 0,
    to1d = 0,
    to7d = 0,
    over7d = 0,
  ] = dwells.counts;
  return {
    idle_ms: ms.idle,
    occupied_ms: ms.occupied,
    error_ms: ms.error,
    unknown_ms: ms.unknown,
    unobserved_ms: account.unobservedMs,
    exhausted_ms: account.exhaustedMs,
    ...extentToColumns(account.extent),
    dwell_to_10s: to10s,
    dwell_to_30s: to30s,
    dwell_to_1m: to1m,
    dwell_to_2m: to2m,
    dwell_to_5m: to5m,
    dwell_to_15m: to15m,
    dwell_to_30m: to30m,
    dwell_to_1h: to1h,
    dwell_to_2h: to2h,
    dwell_to_4h: to4h,
    dwell_to_12h: to12h,
    dwell_to_1d: to1d,
    dwell_to_7d: to7d,
    dwell_over_7d: over7d,
    dwell_ms: dwells.sumMs,
  };
}

export function accountFromColumns(row: AccountColumns): NameAccount {
  return {
    ...sumsFromColumns(row),
    extent: extentFromColumns(row),
    exhaustedMs: row.exhausted_ms,
  };
}

export function sumsFromColumns(
  row: SumColumns,
): Pick<NameAccount, "ms" | "unobservedMs" | "dwells"> {
  return {
    ms: {
      idle: row.idle_ms,
      occupied: row.occupied_ms,
      error: row.error_ms,
      unknown: row.unknown_ms,
    },
    unobservedMs: row.unobserved_ms,
    dwells: dwellsFromColumns(row),
  };
}

function dwellsFromColumns(row: DwellColumns): DwellHistogram {
  const counts = dwellColumns.map((column) => row[column]);
  return counts.some((count) => count > 0) ? { counts, sumMs: row.dwell_ms } : noDwells;
}
