import type { Kysely } from "kysely";
import type { Target } from "../fleet/model.ts";
import { emptyAccount, mergeNames } from "../fleet/buckets.ts";
import type { Bucket, NameAccount, Resolution } from "../fleet/buckets.ts";
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

export interface Found {
  readonly targetId: number;
  readonly bucket: Bucket;
}

export function inWindow(reader: Kysely<Tables>, { targets, resolution, startMs, endMs }: Window) {
  return reader
    .selectFrom("target_buckets")
    .where("resolution", "=", resolution)
    .where("start_at_ms", ">=", startMs)
    .where("start_at_ms", "<", endMs)
    .where("target_id", "in", [...targets.keys()]);
}

/** @param byName whether the servers of each name have an account; else all have one, under the empty name */
export async function readClosed(
  reader: Kysely<Tables>,
  window: Window,
  byName: boolean,
): Promise<readonly Found[]> {
  const rows = await inWindow(reader, window).selectAll().execute();
  const accounts = byName ? await readNames(reader, window) : await readSums(reader, window);
  return rows.map((row) => {
    const names = accounts.get(placeOf(row)) ?? new Map<string, NameAccount>();
    const bucket = bucketOf(row, names);
    return { targetId: row.target_id, bucket: byName ? bucket : mergeNames(bucket) };
  });
}

type Accounts = ReadonlyMap<string, ReadonlyMap<string, NameAccount>>;

export function placeOf(row: { readonly start_at_ms: number; readonly target_id: number }): string {
  return `${row.start_at_ms} ${row.target_id}`;
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

export async function readNames(reader: Kysely<Tables>, window: Window): Promise<Accounts> {
  const rows = await selectAccounts(reader, window)
    .innerJoin("server_names", "server_names.id", "occupancy.name_id")
    .selectAll("occupancy")
    .select("server_names.name")
    .execute();
  const all = new Map<string, Map<string, NameAccount>>();
  for (const row of rows) {
    const names = all.get(placeOf(row)) ?? new Map<string, NameAccount>();
    all.set(placeOf(row), names);
    names.set(row.name, accountFromColumns(row));
  }
  return all;
}

async function readSums(reader: Kysely<Tables>, window: Window): Promise<Accounts> {
  const rows = await selectAccounts(reader, window)
    .select(({ fn }) => [
      "target_id",
      "start_at_ms",
      ...sumColumns.map((column) => fn.sum<number>(column).as(column)),
    ])
    .groupBy(["start_at_ms", "target_id"])
    .execute();
  return new Map(
    rows.map((row) => [
      placeOf(row),
      new Map([["", { ...emptyAccount, ...sumsFromColumns(row) }]]),
    ]),
  );
}

function selectAccounts(reader: Kysely<Tables>, { targets, resolution, startMs, endMs }: Window) {
  return reader
    .selectFrom("occupancy")
    .where("resolution", "=", resolution)
    .where("start_at_ms", ">=", startMs)
    .where("start_at_ms", "<", endMs)
    .where("target_id", "in", [...targets.keys()]);
}
