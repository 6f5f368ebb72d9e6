import { noOpenBuckets, type Accounting, type OpenBuckets } from "../fleet/accounting.ts";
import { addAccount, emptyAccount, isEmptyBucket } from "../fleet/buckets.ts";
import type { Bucket, NameAccount, Resolution } from "../fleet/buckets.ts";
import { batches, paced } from "../lib/iterables.ts";
import {
  accountToColumns,
  bucketFromJson,
  bucketToJson,
  extentToColumns,
  totalToColumns,
} from "./occupancy-columns.ts";
import type { Together } from "./shared-commits.ts";
import { prepareUpsert } from "./sql-helpers.ts";
import type { RowReading } from "./damaged-rows.ts";
import type { Db, Tables } from "./tables.ts";

/** No row of `server_names` has it, so the database refuses it. */
const noName = -1;

const namesAtOnce = 500;

const bucketKey = ["resolution", "start_at_ms", "target_id"] as const;

// After a step backwards of the clock a bucket can close once more.
const upsertTargetBuckets = prepareUpsert("target_buckets", bucketKey);
const upsertOccupancy = prepareUpsert("occupancy", [...bucketKey, "name_id"]);
const upsertOpenBuckets = prepareUpsert("open_buckets", ["target_id", "resolution"]);

/**
 * Writes the buckets that polls changed, within their transaction, but for the open one of five minutes, which is in the
 * target's own row.
 */
export function writeOccupancy(
  together: Together,
  targetId: number,
  { open, written }: Accounting,
): void {
  for (const { resolution, bucket } of written) {
    const isOpen = open[resolution]?.startMs === bucket.startMs;
    if (!isOpen) writeClosed(together, targetId, resolution, bucket);
    else if (resolution !== "5m") {
      const row = { target_id: targetId, resolution, bucket: bucketToJson(bucket) };
      together(upsertOpenBuckets, [row]);
    }
  }
}

function writeClosed(
  together: Together,
  targetId: number,
  resolution: Resolution,
  bucket: Bucket,
): void {
  if (isEmptyBucket(bucket)) return;
  const { startMs, recordedMs, unobservedMs, extent, names } = bucket;
  const key = { resolution, start_at_ms: startMs, target_id: targetId };
  const times = { recorded_ms: recordedMs, unobserved_ms: unobservedMs };
  const total = totalToColumns(names.values().reduce(addAccount, emptyAccount));
  together(upsertTargetBuckets, [{ ...key, ...times, ...extentToColumns(extent), ...total }]);
  together(
    writeAccounts,
    names.entries().map(([name, account]) => ({ key, name, account })),
  );
}

interface NamedAccount {
  readonly key: Pick<Tables["occupancy"], (typeof bucketKey)[number]>;
  readonly name: string;
  readonly account: NameAccount;
}

async function writeAccounts(trx: Db, accounts: Iterable<NamedAccount>): Promise<void> {
  for await (const some of paced(batches(accounts, namesAtOnce))) {
    const ids = await nameIds(trx, [...new Set(some.map(({ name }) => name))]);
    await upsertOccupancy(
      trx,
      some.map(({ key, name, account }) => ({
        ...key,
        name_id: ids.get(name) ?? noName,
        ...accountToColumns(account),
      })),
    );
  }
}

/**
 * The ids of server names. Always looked up: a transaction that adds names may be rolled back, so ids that it saw must not
 * outlive it.
 */
async function nameIds(trx: Db, names: readonly string[]): Promise<ReadonlyMap<string, number>> {
  const select = async () => {
    const rows = await trx
      .selectFrom("server_names")
      .select(["id", "name"])
      .where("name", "in", names)
      .execute();
    return new Map(rows.map(({ id, name }) => [name, id]));
  };
  const known = await select();
  const added = names.filter((name) => !known.has(name));
  if (added.length === 0) return known;
  await trx
    .insertInto("server_names")
    .values(added.toSorted().map((name) => ({ name })))
    .onConflict((conflict) => conflict.column("name").doNothing())
    .execute();
  return select();
}

/** The open buckets of every target, as they are to be restored. */
export async function readOpenBuckets(
  db: Db,
  targetIds: readonly number[] | null,
  reading: RowReading,
): Promise<ReadonlyMap<number, OpenBuckets>> {
  const some = targetIds ?? [];
  const isAll = targetIds === null;
  const finest = await db
    .selectFrom("targets")
    .select(["id as target_id", "open_bucket as bucket"])
    .where("open_bucket", "is not", null)
    .$if(!isAll, (query) => query.where("id", "in", some))
    .execute();
  const coarser = await db
    .selectFrom("open_buckets")
    .selectAll()
    .$if(!isAll, (query) => query.where("target_id", "in", some))
    .execute();
  const all = new Map<number, OpenBuckets>();
  for (const row of [
    ...finest.map((each) => ({ ...each, resolution: "5m" as const })),
    ...coarser,
  ]) {
    const { target_id: targetId, resolution } = row;
    const id = `${resolution} of target ${targetId}`;
    const bucket = reading.read("open_buckets", id, {}, () => bucketFromJson(row.bucket ?? ""));
    if (!bucket) continue;
    all.set(targetId, { ...(all.get(targetId) ?? noOpenBuckets), [resolution]: bucket });
  }
  return all;
}
