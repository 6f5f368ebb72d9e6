import type { Bucket, Extent, NameAccount } from "../fleet/buckets.ts";
import { noDwells } from "../fleet/dwell.ts";
import { statuses, type Status } from "../fleet/status.ts";
import { byStatus, type CountByStatus } from "../fleet/tallies.ts";

/** The columns of `occupancy` that count dwell times, in the order of the histogram's bounds. */
const dwellColumns = [
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

type SumColumns = Record<`${Status}_ms` | (typeof dwellColumns)[number] | "dwell_ms", number>;
/** The sums of all names in a row of `target_buckets`, where `unobserved_ms` is time of the target. */
export type TotalColumns = SumColumns & Record<"servers_unobserved_ms", number>;
export type ExtentColumns = Record<`${Status}_${"least" | "most"}`, number | null>;

/** What a row of `occupancy` holds beside its key. */
export interface AccountColumns extends ExtentColumns, SumColumns {
  unobserved_ms: number;
  exhausted_ms: number;
}

export function extentToColumns(extent: Extent | null): ExtentColumns {
  const { least, most } = extent ?? { least: null, most: null };
  return {
    idle_least: least?.idle ?? null,
    idle_most: most?.idle ?? null,
    occupied_least: least?.occupied ?? null,
    occupied_most: most?.occupied ?? null,
    error_least: least?.error ?? null,
    error_most: most?.error ?? null,
    unknown_least: least?.unknown ?? null,
    unknown_most: most?.unknown ?? null,
  };
}

export function extentFromColumns(row: ExtentColumns): Extent | null {
  if (row.idle_least === null) return null;
  return {
    least: byStatus((status) => row[`${status}_least`] ?? 0),
    most: byStatus((status) => row[`${status}_most`] ?? 0),
  };
}

export function accountToColumns(account: NameAccount): AccountColumns {
  return {
    ...sumsToColumns(account),
    unobserved_ms: account.unobservedMs,
    exhausted_ms: account.exhaustedMs,
    ...extentToColumns(account.extent),
  };
}

export function totalToColumns(account: NameAccount): TotalColumns {
  return { ...sumsToColumns(account), servers_unobserved_ms: account.unobservedMs };
}

function sumsToColumns({ ms, dwells }: NameAccount): SumColumns {
  const counts: (string | number)[][] = dwellColumns.map((column, bound) => [
    column,
    dwells.counts[bound] ?? 0,
  ]);
  return {
    idle_ms: ms.idle,
    occupied_ms: ms.occupied,
    error_ms: ms.error,
    unknown_ms: ms.unknown,
    ...Object.fromEntries(counts),
    dwell_ms: dwells.sumMs,
  };
}

export function accountFromColumns(row: AccountColumns): NameAccount {
  return {
    ...sumsFromColumns(row),
    unobservedMs: row.unobserved_ms,
    extent: extentFromColumns(row),
    exhaustedMs: row.exhausted_ms,
  };
}

export function totalFromColumns(row: TotalColumns): NameAccount {
  const unobservedMs = row.servers_unobserved_ms;
  return { ...sumsFromColumns(row), unobservedMs, extent: null, exhaustedMs: 0 };
}

function sumsFromColumns(row: SumColumns): Pick<NameAccount, "ms" | "dwells"> {
  const counts = dwellColumns.map((column) => row[column]);
  return {
    ms: byStatus((status) => row[`${status}_ms`]),
    dwells: counts.some((count) => count > 0) ? { counts, sumMs: row.dwell_ms } : noDwells,
  };
}

/** Numbers in the order of `statuses`. */
type Numbers = readonly number[];

/** An open bucket as it is stored. An extent is the least, then the most. */
interface StoredBucket extends Pick<Bucket, "startMs" | "recordedMs" | "unobservedMs"> {
  readonly extent: Numbers | null;
  readonly names: readonly (readonly [name: string, StoredAccount])[];
}

interface StoredAccount extends Pick<NameAccount, "unobservedMs" | "exhaustedMs"> {
  readonly ms: Numbers;
  readonly extent: Numbers | null;
  readonly dwells: NameAccount["dwells"] | null;
}

/** An open bucket as JSON, which each poll writes: so most of its numbers have no names. */
export function bucketToJson({ extent, names, ...bucket }: Bucket): string {
  const stored: StoredBucket = {
    ...bucket,
    extent: extent && extentToNumbers(extent),
    names: Array.from(names, ([name, { ms, extent: most, dwells, ...account }]) => [
      name,
      {
        ...account,
        ms: toNumbers(ms),
        extent: most && extentToNumbers(most),
        dwells: dwells === noDwells ? null : dwells,
      },
    ]),
  };
  return JSON.stringify(stored);
}

/** @throws when it is not one that was stored whole */
export function bucketFromJson(json: string): Bucket {
  const stored: StoredBucket | EarlierBucket = JSON.parse(json);
  const { extent, names, ...bucket } = "start" in stored ? fromEarlier(stored) : stored;
  return {
    ...bucket,
    extent: extent && extentFromNumbers(extent),
    names: new Map(
      names.map(([name, { ms, extent: most, dwells, ...account }]) => [
        name,
        {
          ...account,
          ms: fromNumbers(ms),
          extent: most && extentFromNumbers(most),
          dwells: dwells ?? noDwells,
        },
      ]),
    ),
  };
}

/** As open buckets were stored before: what was zero or null was absent. */
interface EarlierBucket {
  readonly start: number;
  readonly recorded: number;
  readonly unobserved: number;
  readonly extent?: Numbers;
  readonly names: Readonly<Record<string, EarlierAccount>>;
}

interface EarlierAccount {
  readonly ms?: Numbers;
  readonly unobserved?: number;
  readonly extent?: Numbers;
  readonly exhausted?: number;
  readonly dwells?: { readonly counts: Numbers; readonly ms: number };
}

function fromEarlier({ start, recorded, unobserved, extent, names }: EarlierBucket): StoredBucket {
  return {
    startMs: start,
    recordedMs: recorded,
    unobservedMs: unobserved,
    extent: extent ?? null,
    names: Object.entries(names).map(([name, { ms = [], dwells, ...account }]) => [
      name,
      {
        ms,
        unobservedMs: account.unobserved ?? 0,
        exhaustedMs: account.exhausted ?? 0,
        extent: account.extent ?? null,
        dwells: dwells ? { counts: dwells.counts, sumMs: dwells.ms } : null,
      },
    ]),
  };
}

function extentToNumbers({ least, most }: Extent): Numbers {
  return [...toNumbers(least), ...toNumbers(most)];
}

function extentFromNumbers(numbers: Numbers): Extent {
  return { least: fromNumbers(numbers), most: fromNumbers(numbers.slice(statuses.length)) };
}

function toNumbers(counts: CountByStatus): Numbers {
  return statuses.map((status) => counts[status]);
}

function fromNumbers(numbers: Numbers): CountByStatus {
  return byStatus((status) => numbers[statuses.indexOf(status)] ?? 0);
}
