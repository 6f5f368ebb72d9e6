import { sql } from "kysely";
import type { Kysely } from "kysely";
import { noAccounts } from "../../src/core/occupancy/accounts.ts";
import { addStay, noStays } from "../../src/core/occupancy/stay-sketch.ts";
import { addBucket, byStatus, emptyBucket } from "../../src/core/occupancy/bucket.ts";
import { resolutionMs } from "../../src/core/occupancy/bucket.ts";
import type { Bucket, NameAccount } from "../../src/core/occupancy/bucket.ts";
import type { StaySketch } from "../../src/core/occupancy/stay-sketch.ts";
import { initialProgress } from "../../src/core/target-state.ts";
import { createBucketWriter } from "../../src/store/bucket-rows.ts";
import { progressToRow } from "../../src/store/target-rows.ts";
import type { Tables } from "../../src/store/tables.ts";
import { seededRandom } from "../../src/platform/random.ts";

export interface BucketsWanted {
  readonly targets: number;
  readonly names: number;
  readonly days: number;
  /** The end of the last day, in UTC. */
  readonly endMs: number;
  readonly seed: number;
}

/** Servers of each name. */
const serversPerName = 5;
/** Of each server, on average: half of them end a stay in `occupied`, half one in `idle`. */
const changesADay = 12;
/** Of each name and status in an hour, on average. */
const staysPerHour = (serversPerName * changesADay) / 2 / 24;
/** Targets have one of so many days. */
const distinctDays = 24;

const hourMs = resolutionMs["1h"];
const dayMs = resolutionMs["1d"];

/** Writes hours and days as polls would have left them. A target has the same day again and again. */
export async function writeBuckets(kysely: Kysely<Tables>, wanted: BucketsWanted): Promise<void> {
  const { targets, names, endMs } = wanted;
  const random = seededRandom(wanted.seed);
  const days = Array.from({ length: distinctDays }, () => randomDay(names, random));
  const writer = createBucketWriter(kysely);
  const beginMs = endMs - dayMs;
  await kysely.transaction().execute(async (trx) => {
    for (let index = 0; index < targets; index += 1) {
      const id = await addTarget(trx, index, endMs);
      const day = days[index % distinctDays] ?? randomDay(names, random);
      await writer.write(trx, id, {
        accounts: { ...noAccounts, "5m": emptyBucket(endMs) },
        written: [
          ...day.hours.map((bucket, hour) => ({
            resolution: "1h" as const,
            bucket: { ...bucket, startMs: beginMs + hour * hourMs },
          })),
          { resolution: "1d", bucket: { ...day.whole, startMs: beginMs } },
        ],
      });
    }
  });
  for (const resolution of ["1h", "1d"]) {
    const table = sql.table(`buckets_${resolution}`);
    const totals = sql.table(`totals_${resolution}`);
    for (let day = wanted.days - 1; day > 0; day -= 1) {
      await sql`
        insert into ${table} (target_id, start_at_ms, booked_ms, unobserved_ms, body)
        select target_id, start_at_ms - ${day * dayMs}, booked_ms, unobserved_ms, body
        from ${table} where start_at_ms >= ${beginMs}
        order by start_at_ms, target_id
      `.execute(kysely);
      await sql`
        insert into ${totals} (start_at_ms, target_id, body)
        select start_at_ms - ${day * dayMs}, target_id, body
        from ${totals} where start_at_ms >= ${beginMs}
      `.execute(kysely);
    }
  }
}

async function addTarget(kysely: Kysely<Tables>, index: number, endMs: number): Promise<number> {
  const progress = { ...initialProgress, lastPollAtMs: endMs, lastSuccessAtMs: endMs };
  const { id } = await kysely
    .insertInto("targets")
    .values({ region: regionOf(index), key: keyOf(index), ...progressToRow(progress) })
    .returning("id")
    .executeTakeFirstOrThrow();
  return id;
}

export const regionOf = (target: number): string => `region-${Math.floor(target / 10)}`;
export const keyOf = (target: number): string => `key-${target % 10}`;

interface Day {
  readonly hours: readonly Bucket[];
  readonly whole: Bucket;
}

function randomDay(names: number, random: () => number): Day {
  const hours = Array.from({ length: 24 }, () => randomHour(0, names, random));
  return { hours, whole: hours.reduce(addBucket, emptyBucket(0)) };
}

function randomHour(startMs: number, names: number, random: () => number): Bucket {
  const ms = resolutionMs["1h"];
  const accounts = new Map<string, NameAccount>();
  for (let index = 0; index < names; index += 1) {
    const occupied = Math.floor(random() * serversPerName * ms);
    const free = serversPerName * ms - occupied;
    const error = random() < 0.05 ? Math.floor(random() * 0.04 * free) : 0;
    const idle = free - error;
    const most = { idle: 4, occupied: 4, error: error > 0 ? 1 : 0, unknown: 0 };
    const least = { idle: 1, occupied: 1, error: 0, unknown: 0 };
    accounts.set(`server-${index}`, {
      ms: { idle, occupied, error, unknown: 0 },
      unobservedMs: 0,
      extent: { least, most },
      exhaustedMs: Math.floor(random() * 1_000),
      stays: byStatus((status) =>
        status === "idle" || status === "occupied" ? randomStays(random) : noStays,
      ),
    });
  }
  const all = { idle: 4 * names, occupied: 4 * names, error: 1, unknown: 0 };
  const few = { idle: names, occupied: names, error: 0, unknown: 0 };
  const extent = { least: few, most: all };
  return { startMs, bookedMs: ms, unobservedMs: 0, extent, names: accounts };
}

function randomStays(random: () => number): StaySketch {
  let stays = noStays;
  const count = Math.floor(staysPerHour + random());
  for (let stay = 0; stay < count; stay += 1) {
    stays = addStay(stays, 30_000 + random() ** 4 * 7_200_000);
  }
  return stays;
}
