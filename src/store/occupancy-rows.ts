import type { Kysely } from "kysely";
import { noOpenBuckets } from "../fleet/accounting.ts";
import type { Accounting, OpenBuckets } from "../fleet/accounting.ts";
import { isEmptyBucket } from "../fleet/buckets.ts";
import type { Bucket, Resolution } from "../fleet/buckets.ts";
import { batches, paced } from "../lib/paced.ts";
import { bucketFromJson, bucketToJson } from "./bucket-json.ts";
import { accountToColumns, extentToColumns } from "./occupancy-columns.ts";
import { prepareUpsert } from "./prepared.ts";
import type { RowReading } from "./row-reading.ts";
import type { Tables } from "./tables.ts";

/** No row of `server_names` has it, so the database refuses it. */
const noName = -1;

/** A fixed number keeps statements few and reusable. */
const rowsPerInsert = 25;

/**
 * Writes the buckets that polls changed, within their transaction, but for the open one of five minutes, which is in the
 * target's own row.
 */
export async function writeOccupancy(
  trx: Kysely<Tables>,
  targetId: number,
  { open, written }: Accounting,
): Promise<void> {
  for (const { resolution, bucket } of written) {
    const isOpen = open[resolution]?.startMs === bucket.startMs;
    if (!isOpen) await insertClosed(trx, targetId, resolution, bucket);
    else if (resolution !== "5m") {
      const row = { target_id: targetId, resolution, bucket: bucketToJson(bucket) };
      await upsertOpenBuckets(trx, [row]);
    }
  }
}

async function insertClosed(
  trx: Kysely<Tables>,
  targetId: number,
  resolution: Resolution,
  bucket: Bucket,
): Promise<void> {
  if (isEmptyBucket(bucket)) return;
  const key = { resolution, start_at_ms: bucket.startMs, target_id: targetId };
  await upsertTargetBuckets(trx, [
    {
      ...key,
      recorded_ms: bucket.recordedMs,
      unobserved_ms: bucket.unobservedMs,
      ...extentToColumns(bucket.extent),
    },
  ]);
  for await (const some of paced(batches(bucket.names, rowsPerInsert))) {
    const ids = await nameIds(
      trx,
      some.map(([name]) => name),
    );
    const rows = some.map(([name, account]) => ({
      ...key,
      name_id: ids.get(name) ?? noName,
      ...accountToColumns(account),
    }));
    await upsertOccupancy(trx, rows);
  }
}

// After a step backwards of the clock a bucket can close once more.
const upsertTargetBuckets = prepareUpsert("target_buckets", [
  "resolution",
  "start_at_ms",
  "target_id",
]);
const upsertOccupancy = prepareUpsert("occupancy", [
  "resolution",
  "start_at_ms",
  "target_id",
  "name_id",
]);
const upsertOpenBuckets = prepareUpsert("open_buckets", ["target_id", "resolution"]);

/**
 * The ids of server names. Always looked up: a transaction that adds names may be rolled back, so ids that it saw must not
 * outlive it.
 */
async function nameIds(
  trx: Kysely<Tables>,
  names: readonly string[],
): Promise<ReadonlyMap<string, number>> {
  const known = await selectNames(trx, names);
  const added = names.filter((name) => !known.has(name));
  if (added.length === 0) return known;
  await trx
    .insertInto("server_names")
    .values(added.map((name) => ({ name })))
    .onConflict((conflict) => conflict.column("name").doNothing())
    .execute();
  return selectNames(trx, names);
}

async function selectNames(
  trx: Kysely<Tables>,
  names: readonly string[],
): Promise<ReadonlyMap<string, number>> {
  const rows = await trx
    .selectFrom("server_names")
    .select(["id", "name"])
    .where("name", "in", names)
    .execute();
  return new Map(rows.map(({ id, name }) => [name, id]));
}

/** The open buckets of every target, as they are to be restored. */
export async function readOpenBuckets(
  db: Kysely<Tables>,
  reading: RowReading,
): Promise<ReadonlyMap<number, OpenBuckets>> {
  const finest = await db
    .selectFrom("targets")
    .select(["id as target_id", "open_bucket as bucket"])
    .where("open_bucket", "is not", null)
    .execute();
  const coarser = await db.selectFrom("open_buckets").selectAll().execute();
  const all = new Map<number, OpenBuckets>();
  const read = (targetId: number, resolution: Resolution, json: string): void => {
    const id = `${resolution} of target ${targetId}`;
    const bucket = reading.read("open_buckets", id, {}, () => bucketFromJson(json));
    if (bucket)
      all.set(targetId, { ...(all.get(targetId) ?? noOpenBuckets), [resolution]: bucket });
  };
  for (const { target_id, bucket } of finest) if (bucket !== null) read(target_id, "5m", bucket);
  for (const { target_id, resolution, bucket } of coarser) read(target_id, resolution, bucket);
  return all;
}
