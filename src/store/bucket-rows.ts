import { sql, type Insertable, type Kysely } from "kysely";
import { noAccounts } from "../core/occupancy/accounts.ts";
import type { Accounts, AccountsStep } from "../core/occupancy/accounts.ts";
import type { Bucket, Resolution } from "../core/occupancy/bucket.ts";
import { soleBegun, SteadyNames } from "../core/occupancy/steady-names.ts";
import type { Begun } from "../core/occupancy/steady-names.ts";
import type { BucketTotal } from "../core/occupancy/server-sums.ts";
import { totalOfBucket } from "../core/occupancy/server-sums.ts";
import { packBody, packOpenBody, totalOfBody, unpackBody } from "./bucket-body.ts";
import { createBucketNames, createNameReader } from "./bucket-names.ts";
import type { BucketNames } from "./bucket-names.ts";
import { packTotal, totalTables } from "./bucket-totals.ts";
import { NumberReader, NumberWriter } from "./packed-numbers.ts";
import { prepare } from "./prepared.ts";
import type { RowReading } from "./row-reading.ts";
import type { BucketsTable, Tables } from "./tables.ts";
import type { OpenBucketColumns, OpenBucketTimes } from "./target-rows.ts";

/** Where the closed buckets of a resolution are. */
export const bucketTables = {
  "5m": "buckets_5m",
  "1h": "buckets_1h",
  "1d": "buckets_1d",
} as const satisfies Record<Resolution, keyof Tables>;

export type BucketColumns = Omit<Insertable<BucketsTable>, "id" | "target_id">;

export function bucketFromRow(row: BucketColumns, nameOf: (id: number) => string): Bucket {
  return unpackBody(timesOfRow(row), nameOf, new NumberReader(row.body));
}

/** All names of it together, without unpacking them one by one. */
export function totalFromRow(row: BucketColumns): BucketTotal {
  return totalOfBody(timesOfRow(row), row.body);
}

function timesOfRow(row: BucketColumns): Pick<Bucket, "startMs" | "bookedMs" | "unobservedMs"> {
  const { start_at_ms: startMs, booked_ms: bookedMs, unobserved_ms: unobservedMs } = row;
  return { startMs, bookedMs, unobservedMs };
}

export interface BucketsWritten {
  /** Of the finest bucket: the target's own row has them. All but its times stay where these are all. */
  readonly open: OpenBucketColumns | OpenBucketTimes;
  /** To be called once all is committed. */
  readonly committed: () => void;
}

/** Writes what polls booked. */
export function createBucketWriter(kysely: Kysely<Tables>) {
  const writeClosed = prepareClosed(kysely);
  const writeTotal = prepareTotals(kysely);
  const writeOpen = prepareOpen(kysely);
  const closeFinest = prepareClosing(kysely);
  const output = new NumberWriter();
  const names = createBucketNames();
  /** The finest buckets, by target, as they were last committed. */
  const committed = new Map<number, Committed>();
  /** Of what goes on from bucket to bucket, by what they began with. */
  const bodies = new WeakMap<Begun, Uint8Array>();
  const knownBody = (bucket: Bucket): Uint8Array | undefined => {
    const sole = soleBegun(bucket);
    return sole ? bodies.get(sole) : undefined;
  };

  return {
    /** Within the transaction of the poll, before the target's own row is written. */
    async write(
      trx: Kysely<Tables>,
      targetId: number,
      { accounts, written }: AccountsStep,
    ): Promise<BucketsWritten> {
      const finest = accounts["5m"];
      const begun = finest?.names instanceof SteadyNames ? finest.names.begun : null;
      const before = committed.get(targetId);
      const goesOn = finest && begun && before?.begun === begun;
      if (goesOn && written.every(({ bucket }) => bucket === finest)) {
        return { open: timesOf(finest), committed() {} };
      }
      // The open one is written in any case, also by a poll that booked nothing.
      const writing = [...written.map(({ bucket }) => bucket), ...(finest ? [finest] : [])];
      const unknown = unknownNames(
        writing.filter((bucket) => !knownBody(bucket)),
        names,
      );
      const ids = unknown.size > 0 ? await names.write(trx, unknown) : null;
      const idOf = (name: string): number => names.idOf(name) ?? ids?.get(name) ?? 0;
      const bodyOf = (bucket: Bucket, pack: typeof packBody): Uint8Array => {
        const known = knownBody(bucket);
        if (known) return known;
        const body = pack(bucket, idOf, output);
        const sole = soleBegun(bucket);
        // Numbers that names have got only now are not committed yet.
        if (sole && !ids) bodies.set(sole, body);
        return body;
      };
      const columnsOf = (bucket: Bucket, pack: typeof packBody): unknown[] => {
        const { startMs, bookedMs, unobservedMs } = bucket;
        return [startMs, bookedMs, unobservedMs, bodyOf(bucket, pack)];
      };
      for (const { resolution, bucket } of written) {
        if (accounts[resolution]?.startMs !== bucket.startMs) {
          await writeClosed[resolution](trx, [targetId, ...columnsOf(bucket, packBody)]);
          if (resolution !== "5m") {
            const total = packTotal(totalOfBucket(bucket), output);
            await writeTotal[resolution](trx, [bucket.startMs, targetId, total]);
          }
        } else if (resolution !== "5m") {
          // What it closes was written anew by the same poll: something finer was added to it.
          await writeOpen(trx, [resolution, targetId, ...columnsOf(bucket, packOpenBody)]);
        }
      }
      if (finest && before?.startMs !== finest.startMs) {
        await closeFinest(trx, [targetId, finest.startMs]);
      }
      return {
        open: finest ? openColumns(finest, bodyOf(finest, packOpenBody)) : noneOpen,
        committed() {
          if (ids) names.takeOn(ids);
          if (finest) committed.set(targetId, { startMs: finest.startMs, begun });
        },
      };
    },
  };
}

interface Committed {
  readonly startMs: number;
  /** Where the stored body says what goes on: with what that began. */
  readonly begun: Begun | null;
}

function openColumns(bucket: Bucket, body: Uint8Array): OpenBucketColumns {
  return { open_start_at_ms: bucket.startMs, ...timesOf(bucket), open_body: body };
}

function timesOf({ bookedMs, unobservedMs }: Bucket): OpenBucketTimes {
  return { open_booked_ms: bookedMs, open_unobserved_ms: unobservedMs };
}

export const noneOpen: OpenBucketColumns = {
  open_start_at_ms: null,
  open_booked_ms: null,
  open_unobserved_ms: null,
  open_body: null,
};

function unknownNames(buckets: Iterable<Bucket>, names: BucketNames): ReadonlySet<string> {
  const unknown = new Set<string>();
  for (const bucket of buckets) {
    for (const name of bucket.names.keys()) if (names.idOf(name) === null) unknown.add(name);
  }
  return unknown;
}

/** The buckets that were open, by target. */
export async function readOpenBuckets(
  kysely: Kysely<Tables>,
  reading: RowReading,
): Promise<ReadonlyMap<number, Accounts>> {
  const names = createNameReader(kysely, reading);
  const rows = await kysely.selectFrom("open_buckets").selectAll().execute();
  await names.refresh();
  const all = new Map<number, Accounts>();
  for (const row of rows) {
    const id = `${row.resolution} of target ${row.target_id}`;
    const bucket = reading.read("open_buckets", id, () => bucketFromRow(row, names.nameOf));
    if (!bucket) continue;
    const accounts = all.get(row.target_id) ?? noAccounts;
    all.set(row.target_id, { ...accounts, [row.resolution]: bucket });
  }
  return all;
}

const someColumns: BucketColumns = {
  start_at_ms: 0,
  booked_ms: 0,
  unobserved_ms: 0,
  body: new Uint8Array(),
};

function prepareClosed(kysely: Kysely<Tables>) {
  const into = (resolution: Resolution) =>
    prepare(
      kysely
        .insertInto(bucketTables[resolution])
        .values({ target_id: 0, ...someColumns })
        .onConflict((conflict) =>
          conflict.columns(["target_id", "start_at_ms"]).doUpdateSet((row) => ({
            booked_ms: row.ref("excluded.booked_ms"),
            unobserved_ms: row.ref("excluded.unobserved_ms"),
            body: row.ref("excluded.body"),
          })),
        ),
    );
  return { "5m": into("5m"), "1h": into("1h"), "1d": into("1d") };
}

function prepareTotals(kysely: Kysely<Tables>) {
  const into = (resolution: keyof typeof totalTables) =>
    prepare(
      kysely
        .insertInto(totalTables[resolution])
        .values({ start_at_ms: 0, target_id: 0, body: new Uint8Array() })
        .onConflict((conflict) =>
          conflict
            .columns(["start_at_ms", "target_id"])
            .doUpdateSet((row) => ({ body: row.ref("excluded.body") })),
        ),
    );
  return { "1h": into("1h"), "1d": into("1d") };
}

function prepareOpen(kysely: Kysely<Tables>) {
  return prepare(
    kysely
      .insertInto("open_coarse_buckets")
      .values({ resolution: "1h", target_id: 0, ...someColumns })
      .onConflict((conflict) =>
        conflict.columns(["resolution", "target_id"]).doUpdateSet((row) => ({
          start_at_ms: row.ref("excluded.start_at_ms"),
          booked_ms: row.ref("excluded.booked_ms"),
          unobserved_ms: row.ref("excluded.unobserved_ms"),
          body: row.ref("excluded.body"),
        })),
      ),
  );
}

/** The finest that was open is closed as it is, unless the poll that closes it wrote it anew. */
function prepareClosing(kysely: Kysely<Tables>) {
  const closing = sql`
    insert into buckets_5m (target_id, start_at_ms, booked_ms, unobserved_ms, body)
    select id, open_start_at_ms, open_booked_ms, open_unobserved_ms, open_body
    from targets where id = ${0} and open_start_at_ms <> ${0}
    on conflict do nothing
  `;
  return prepare({ compile: () => closing.compile(kysely) });
}
