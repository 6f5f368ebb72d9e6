import type { Insertable, Kysely } from "kysely";
import { noAccounts } from "../core/occupancy/accounts.ts";
import type { Accounts, AccountsStep } from "../core/occupancy/accounts.ts";
import type { Bucket, Resolution } from "../core/occupancy/bucket.ts";
import { packBody, unpackBody } from "./bucket-body.ts";
import { createBucketNames, createNameReader } from "./bucket-names.ts";
import { NumberReader, NumberWriter } from "./packed-numbers.ts";
import type { BucketsTable, Tables } from "./tables.ts";

/** Where the closed buckets of a resolution are. */
export const bucketTables = {
  "5m": "buckets_5m",
  "1h": "buckets_1h",
  "1d": "buckets_1d",
} as const satisfies Record<Resolution, keyof Tables>;

export type BucketColumns = Omit<Insertable<BucketsTable>, "id" | "target_id">;

export function bucketFromRow(row: BucketColumns, nameOf: (id: number) => string): Bucket {
  const { start_at_ms: startMs, booked_ms: bookedMs, unobserved_ms: unobservedMs } = row;
  return unpackBody({ startMs, bookedMs, unobservedMs }, nameOf, new NumberReader(row.body));
}

/** Writes what polls booked. */
export function createBucketWriter(kysely: Kysely<Tables>) {
  const output = new NumberWriter();
  const names = createBucketNames();
  const updateOpen = prepareUpdate(kysely);

  return {
    /**
     * Within the transaction of the poll.
     *
     * @returns what to call once it is committed
     */
    async write(
      trx: Kysely<Tables>,
      targetId: number,
      { accounts, written }: AccountsStep,
    ): Promise<(() => void) | null> {
      const ids = await names.write(
        trx,
        written.map(({ bucket }) => bucket),
      );
      const idOf = (name: string): number => names.idOf(name) ?? ids.get(name) ?? 0;
      for (const { resolution, bucket } of written) {
        const { startMs, bookedMs, unobservedMs } = bucket;
        const columns: BucketColumns = {
          start_at_ms: startMs,
          booked_ms: bookedMs,
          unobserved_ms: unobservedMs,
          body: packBody(bucket, idOf, output),
        };
        const isOpen = accounts[resolution]?.startMs === startMs;
        if (!isOpen) await writeClosed(trx, targetId, resolution, columns);
        else if (!(await updateOpen(trx, targetId, resolution, columns))) {
          await open(trx, targetId, resolution, columns);
        }
      }
      return ids.size > 0 ? () => names.takeOn(ids) : null;
    },
  };
}

/** The buckets that were open, by target. */
export async function readOpenBuckets(
  kysely: Kysely<Tables>,
): Promise<ReadonlyMap<number, Accounts>> {
  const names = createNameReader(kysely);
  const rows = await kysely.selectFrom("open_buckets").selectAll().execute();
  await names.refresh();
  const all = new Map<number, Accounts>();
  for (const row of rows) {
    const bucket = bucketFromRow(row, names.nameOf);
    const accounts = all.get(row.target_id) ?? noAccounts;
    all.set(row.target_id, { ...accounts, [row.resolution]: bucket });
  }
  return all;
}

/** Almost every poll writes this row and no other of a bucket, so its statement is built once. */
function prepareUpdate(kysely: Kysely<Tables>) {
  const update = kysely
    .updateTable("open_buckets")
    .set({ booked_ms: 0, unobserved_ms: 0, body: new Uint8Array() })
    .where("resolution", "=", "5m")
    .where("target_id", "=", 0)
    .where("start_at_ms", "=", 0)
    .compile();
  return async (
    trx: Kysely<Tables>,
    targetId: number,
    resolution: Resolution,
    { start_at_ms, booked_ms, unobserved_ms, body }: BucketColumns,
  ): Promise<boolean> => {
    const parameters = [booked_ms, unobserved_ms, body, resolution, targetId, start_at_ms];
    const { numAffectedRows } = await trx.executeQuery({ ...update, parameters });
    return numAffectedRows === 1n;
  };
}

async function writeClosed(
  trx: Kysely<Tables>,
  targetId: number,
  resolution: Resolution,
  columns: BucketColumns,
): Promise<void> {
  await trx
    .insertInto(bucketTables[resolution])
    .values({ target_id: targetId, ...columns })
    .onConflict((conflict) => conflict.columns(["target_id", "start_at_ms"]).doUpdateSet(columns))
    .execute();
}

/** One that was open before is closed as it is, if it was not written anew. */
async function open(
  trx: Kysely<Tables>,
  targetId: number,
  resolution: Resolution,
  columns: BucketColumns,
): Promise<void> {
  await trx
    .insertInto(bucketTables[resolution])
    .columns(["target_id", "start_at_ms", "booked_ms", "unobserved_ms", "body"])
    .expression((builder) =>
      builder
        .selectFrom("open_buckets")
        .select(["target_id", "start_at_ms", "booked_ms", "unobserved_ms", "body"])
        .where("resolution", "=", resolution)
        .where("target_id", "=", targetId),
    )
    .onConflict((conflict) => conflict.doNothing())
    .execute();
  await trx
    .insertInto("open_buckets")
    .values({ resolution, target_id: targetId, ...columns })
    .onConflict((conflict) => conflict.columns(["resolution", "target_id"]).doUpdateSet(columns))
    .execute();
}
