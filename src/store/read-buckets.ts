import { sql, type Kysely } from "kysely";
import type { Target } from "../core/model.ts";
import {
  addBucket,
  bucketStart,
  emptyBucket,
  finerOfUnseen,
  resolutionMs,
  resolutions,
} from "../core/occupancy/bucket.ts";
import type { Bucket, Resolution } from "../core/occupancy/bucket.ts";
import { bucketTables } from "./bucket-rows.ts";
import type { BucketColumns } from "./bucket-rows.ts";
import type { Tables } from "./tables.ts";

/** Some targets' buckets in a range of starts. UTC milliseconds. */
export interface BucketWindow {
  readonly ids: readonly number[];
  readonly startMs: number;
  readonly endMs: number;
}

export interface BucketRow extends BucketColumns {
  readonly target_id: number;
}

export interface ResolvedRow extends BucketRow {
  readonly resolution: Resolution;
}

/** What was booked of a target, not unpacked before its turn comes. */
export interface Found<Booked> {
  readonly targetId: number;
  readonly startMs: number;
  get(): Booked;
}

type Unpack = (row: BucketRow) => Bucket;

const columns = ["target_id", "start_at_ms", "booked_ms", "unobserved_ms", "body"] as const;

/** By id, in the order in which they were first watched. */
export async function readTargets(
  reader: Kysely<Tables>,
  {
    region,
    key,
  }: {
    readonly region?: readonly string[] | undefined;
    readonly key?: readonly string[] | undefined;
  },
): Promise<ReadonlyMap<number, Target>> {
  let select = reader.selectFrom("targets").select(["id", "region", "key"]);
  if (region) select = select.where("region", "in", region);
  if (key) select = select.where("key", "in", key);
  const rows = await select.orderBy("id").execute();
  return new Map(rows.map((row) => [row.id, { region: row.region, key: row.key }]));
}

/** Those that are not closed, of a resolution and of finer ones. */
export function readOpen(
  reader: Kysely<Tables>,
  ids: readonly number[],
  resolution: Resolution,
): Promise<readonly ResolvedRow[]> {
  return reader
    .selectFrom("open_buckets")
    .selectAll()
    .where("target_id", "in", idsIn(ids))
    .where("resolution", "in", resolutions.slice(0, resolutions.indexOf(resolution) + 1))
    .execute();
}

export function readClosed(
  reader: Kysely<Tables>,
  resolution: Resolution,
  { ids, startMs, endMs }: BucketWindow,
): Promise<readonly BucketRow[]> {
  return reader
    .selectFrom(bucketTables[resolution])
    .select(columns)
    .where("target_id", "in", idsIn(ids))
    .where("start_at_ms", ">=", startMs)
    .where("start_at_ms", "<", endMs)
    .execute();
}

/** The coarser ones that passed as a whole without being watched, the coarsest first. */
export async function readUnseen(
  reader: Kysely<Tables>,
  resolution: Resolution,
  { ids, startMs, endMs }: BucketWindow,
): Promise<readonly ResolvedRow[]> {
  const found: ResolvedRow[] = [];
  for (const coarser of coarserThan(resolution).toReversed()) {
    // A literal: otherwise SQLite does not know that its index of just these rows will do.
    const wholeMs = sql.lit(resolutionMs[coarser]);
    const finer = resolutions.slice(resolutions.indexOf(resolution), resolutions.indexOf(coarser));
    const rows = await reader
      .selectFrom(bucketTables[coarser])
      .select(columns)
      .where("booked_ms", "=", wholeMs)
      .where("unobserved_ms", "=", wholeMs)
      .where("target_id", "in", idsIn(ids))
      .where("start_at_ms", ">=", bucketStart(coarser, startMs))
      .where("start_at_ms", "<", endMs)
      // After a step backwards of the clock, what one finer bucket has too much can make up for others.
      .where((where) => where.and(finer.map((each) => holdsNone(coarser, each))))
      .execute();
    for (const row of rows) found.push({ ...row, resolution: coarser });
  }
  return found;
}

/** Whether none of a finer resolution was written within a bucket. */
function holdsNone(coarser: Resolution, finer: Resolution) {
  const bucket = sql.table(bucketTables[coarser]);
  return sql<boolean>`not exists (
    select 1 from ${sql.table(bucketTables[finer])} as finer
    where finer.target_id = ${bucket}.target_id and finer.start_at_ms >= ${bucket}.start_at_ms
      and finer.start_at_ms < ${bucket}.start_at_ms + ${resolutionMs[coarser]}
  )`;
}

export interface ExtentRow {
  readonly target_id: number;
  readonly first_ms: number | null;
  readonly last_ms: number | null;
}

/** The first and the last start of each target; null: of this one nothing is kept. */
export async function readExtents(
  reader: Kysely<Tables>,
  ids: readonly number[],
  resolution: Resolution,
): Promise<readonly ExtentRow[]> {
  const table = sql.table(bucketTables[resolution]);
  const { rows } = await sql<ExtentRow>`
    select ids.value as target_id,
      coalesce(
        (select min(start_at_ms) from ${table} where target_id = ids.value), open.start_at_ms
      ) as first_ms,
      coalesce(
        open.start_at_ms, (select max(start_at_ms) from ${table} where target_id = ids.value)
      ) as last_ms
    from json_each(${JSON.stringify(ids)}) as ids
      left join open_buckets as open
        on open.resolution = ${resolution} and open.target_id = ids.value
  `.execute(reader);
  return rows;
}

/** From when to when there can be any bucket of a resolution. */
export async function readSpan(
  reader: Kysely<Tables>,
  ids: readonly number[],
  resolution: Resolution,
): Promise<Pick<BucketWindow, "startMs" | "endMs">> {
  let startMs = Infinity;
  let endMs = -Infinity;
  for (const each of [resolution, ...coarserThan(resolution)]) {
    for (const { first_ms, last_ms } of await readExtents(reader, ids, each)) {
      startMs = Math.min(startMs, first_ms ?? Infinity);
      endMs = Math.max(endMs, (last_ms ?? -Infinity) + resolutionMs[each]);
    }
  }
  return { startMs, endMs };
}

/** What an unseen coarser bucket is within a window. */
export function partsOf(
  row: ResolvedRow,
  resolution: Resolution,
  window: BucketWindow,
  unpack: Unpack,
): readonly Found<Bucket>[] {
  const { target_id: targetId, start_at_ms: coarseMs } = row;
  const [part] = finerOfUnseen(unpack(row), row.resolution, resolution);
  if (!part) return [];
  const found: Found<Bucket>[] = [];
  const endMs = Math.min(coarseMs + resolutionMs[row.resolution], window.endMs);
  for (
    let startMs = Math.max(coarseMs, window.startMs);
    startMs < endMs;
    startMs += resolutionMs[resolution]
  ) {
    found.push({ targetId, startMs, get: () => ({ ...part, startMs }) });
  }
  return found;
}

/** What the open buckets make together, where it begins within a window. */
export function openParts(
  open: readonly ResolvedRow[],
  resolution: Resolution,
  window: BucketWindow,
  unpack: Unpack,
): readonly Found<Bucket>[] {
  const startOf = (row: ResolvedRow): number => bucketStart(resolution, row.start_at_ms);
  const within = open.filter(
    (row) => startOf(row) >= window.startMs && startOf(row) < window.endMs,
  );
  return [...Map.groupBy(within, (row) => row.target_id)].flatMap(([targetId, ofTarget]) =>
    [...Map.groupBy(ofTarget, startOf)].map(([startMs, rows]) => ({
      targetId,
      startMs,
      get: () => rows.map(unpack).reduce(addBucket, emptyBucket(startMs)),
    })),
  );
}

/** By start, then by target; of the same bucket the one that comes last. */
export function inOrder<Booked>(found: readonly Found<Booked>[]): readonly Found<Booked>[] {
  const isInOrder = found.every((each, index) => {
    const next = found[index + 1];
    return !next || comparePlaces(each, next) < 0;
  });
  if (isInOrder) return found;
  const sorted = found.toSorted(comparePlaces);
  return sorted.filter((each, index) => {
    const next = sorted[index + 1];
    return !next || comparePlaces(each, next) !== 0;
  });
}

type Place = Pick<Found<unknown>, "targetId" | "startMs">;

function comparePlaces(one: Place, other: Place): number {
  return one.startMs - other.startMs || one.targetId - other.targetId;
}

function coarserThan(resolution: Resolution): readonly Resolution[] {
  return resolutions.slice(resolutions.indexOf(resolution) + 1);
}

/** As one parameter, so that the statement is the same for any number of them. */
export function idsIn(ids: readonly number[]) {
  return sql<number>`(select value from json_each(${JSON.stringify(ids)}))`;
}
