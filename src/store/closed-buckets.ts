import type { Kysely } from "kysely";
import type { Target } from "../core/model.ts";
import { emptyBucket } from "../fleet/buckets.ts";
import type { Bucket, NameAccount, Resolution } from "../fleet/buckets.ts";
import { totalOfBucket } from "../fleet/totals.ts";
import type { BucketTotal } from "../fleet/totals.ts";
import {
  accountFromColumns,
  extentFromColumns,
  sumColumns,
  sumsFromColumns,
} from "./occupancy-columns.ts";
import type { Tables } from "./tables.ts";

export type Targets = ReadonlyMap<number, Target>;

/** Starts of buckets of some targets: UTC milliseconds, inclusive and exclusive. */
export interface Window {
  readonly targets: Targets;
  readonly resolution: Resolution;
  readonly startMs: number;
  readonly endMs: number;
}

export interface Found<Value> {
  readonly targetId: number;
  readonly startMs: number;
  readonly value: Value;
}

export function inWindow(reader: Kysely<Tables>, { targets, resolution, startMs, endMs }: Window) {
  return reader
    .selectFrom("target_buckets")
    .where("resolution", "=", resolution)
    .where("start_at_ms", ">=", startMs)
    .where("start_at_ms", "<", endMs)
    .where("target_id", "in", [...targets.keys()]);
}

export async function readClosed(
  reader: Kysely<Tables>,
  window: Window,
): Promise<readonly Found<Bucket>[]> {
  const rows = await inWindow(reader, window).selectAll().execute();
  const names = await readNames(reader, window);
  return rows.map((row) => {
    const { start_at_ms: startMs, target_id: targetId } = row;
    const value = bucketOf(row, names.get(`${startMs} ${targetId}`) ?? new Map());
    return { targetId, startMs, value };
  });
}

export function bucketOf(
  row: Omit<Tables["target_buckets"], "resolution">,
  names: ReadonlyMap<string, NameAccount>,
): Bucket {
  return {
    startMs: row.start_at_ms,
    recordedMs: row.recorded_ms,
    unobservedMs: row.unobserved_ms,
    extent: extentFromColumns(row),
    names,
  };
}

export async function readNames(
  reader: Kysely<Tables>,
  { targets, resolution, startMs, endMs }: Window,
): Promise<ReadonlyMap<string, ReadonlyMap<string, NameAccount>>> {
  const rows = await reader
    .selectFrom("occupancy")
    .innerJoin("server_names", "server_names.id", "occupancy.name_id")
    .selectAll("occupancy")
    .select("server_names.name")
    .where("resolution", "=", resolution)
    .where("start_at_ms", ">=", startMs)
    .where("start_at_ms", "<", endMs)
    .where("target_id", "in", [...targets.keys()])
    .execute();
  const all = new Map<string, Map<string, NameAccount>>();
  for (const row of rows) {
    const place = `${row.start_at_ms} ${row.target_id}`;
    const names = all.get(place) ?? new Map<string, NameAccount>();
    all.set(place, names);
    names.set(row.name, accountFromColumns(row));
  }
  return all;
}

export async function readClosedTotals(
  reader: Kysely<Tables>,
  window: Window,
): Promise<readonly Found<BucketTotal>[]> {
  const { targets, resolution, startMs, endMs } = window;
  const rows = await inWindow(reader, window)
    .select(["target_id", "start_at_ms", "recorded_ms", "unobserved_ms", "occupied_most"])
    .execute();
  const sums = await reader
    .selectFrom("occupancy")
    .select(({ fn }) => [
      "target_id",
      "start_at_ms",
      ...sumColumns.map((column) => fn.sum<number>(column).as(column)),
    ])
    .where("resolution", "=", resolution)
    .where("start_at_ms", ">=", startMs)
    .where("start_at_ms", "<", endMs)
    .where("target_id", "in", [...targets.keys()])
    .groupBy(["start_at_ms", "target_id"])
    .execute();
  const sumsByPlace = new Map(sums.map((row) => [`${row.start_at_ms} ${row.target_id}`, row]));
  return rows.map((row) => {
    const sum = sumsByPlace.get(`${row.start_at_ms} ${row.target_id}`);
    return {
      targetId: row.target_id,
      startMs: row.start_at_ms,
      value: {
        startMs: row.start_at_ms,
        recordedMs: row.recorded_ms,
        unobservedMs: row.unobserved_ms,
        mostOccupied: row.occupied_most,
        servers: sum ? sumsFromColumns(sum) : totalOfBucket(emptyBucket(row.start_at_ms)).servers,
      },
    };
  });
}
