import { statuses } from "../fleet/status.ts";
import type { Status } from "../fleet/status.ts";
import type { Bucket, Extent, NameAccount } from "../fleet/buckets.ts";
import { noDwells } from "../fleet/dwell.ts";
import { byStatus } from "../fleet/tallies.ts";
import type { CountByStatus } from "../fleet/tallies.ts";

/** Numbers in the order of `statuses`. */
type Numbers = readonly number[];

/** As an open bucket is stored: what is zero or null is absent. */
interface StoredAccount {
  readonly ms?: Numbers;
  readonly unobserved?: number;
  /** The least, then the most. */
  readonly extent?: Numbers;
  readonly exhausted?: number;
  readonly dwells?: { readonly counts: Numbers; readonly ms: number };
}

interface StoredBucket {
  readonly start: number;
  readonly recorded: number;
  readonly unobserved: number;
  readonly extent?: Numbers;
  readonly names: Readonly<Record<string, StoredAccount>>;
}

/** An open bucket as JSON. Only this file reads and writes it. */
export function bucketToJson({ startMs, recordedMs, unobservedMs, extent, names }: Bucket): string {
  const stored: StoredBucket = {
    start: startMs,
    recorded: recordedMs,
    unobserved: unobservedMs,
    ...(extent && { extent: extentToNumbers(extent) }),
    names: Object.fromEntries(names.entries().map(([name, each]) => [name, accountToStored(each)])),
  };
  return JSON.stringify(stored);
}

/** @throws {SyntaxError} when it is not one that was stored whole */
export function bucketFromJson(json: string): Bucket {
  const stored: StoredBucket = JSON.parse(json);
  const { start, recorded, unobserved, extent } = stored;
  return {
    startMs: start,
    recordedMs: recorded,
    unobservedMs: unobserved,
    extent: extent ? extentFromNumbers(extent) : null,
    names: new Map(
      Object.entries(stored.names).map(([name, each]) => [name, accountFromStored(each)]),
    ),
  };
}

function accountToStored(account: NameAccount): StoredAccount {
  const { ms, unobservedMs, extent, exhaustedMs, dwells } = account;
  return {
    ...(statuses.some((status) => ms[status] > 0) && { ms: toNumbers(ms) }),
    ...(unobservedMs > 0 && { unobserved: unobservedMs }),
    ...(extent && { extent: extentToNumbers(extent) }),
    ...(exhaustedMs > 0 && { exhausted: exhaustedMs }),
    ...(dwells !== noDwells && { dwells: { counts: dwells.counts, ms: dwells.sumMs } }),
  };
}

function accountFromStored(stored: StoredAccount): NameAccount {
  const { ms, extent, dwells } = stored;
  return {
    ms: fromNumbers(ms ?? []),
    unobservedMs: stored.unobserved ?? 0,
    extent: extent ? extentFromNumbers(extent) : null,
    exhaustedMs: stored.exhausted ?? 0,
    dwells: dwells ? { counts: dwells.counts, sumMs: dwells.ms } : noDwells,
  };
}

function extentToNumbers({ least, most }: Extent): Numbers {
  return [...toNumbers(least), ...toNumbers(most)];
}

function extentFromNumbers(numbers: Numbers): Extent {
  return {
    least: fromNumbers(numbers),
    most: fromNumbers(numbers.slice(statuses.length)),
  };
}

function toNumbers(counts: CountByStatus): Numbers {
  return statuses.map((status) => counts[status]);
}

function fromNumbers(numbers: Numbers): CountByStatus {
  return byStatus((status: Status) => numbers[statuses.indexOf(status)] ?? 0);
}
