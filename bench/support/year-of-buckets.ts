import type { Kysely } from "kysely";
import { noAccounts } from "../../src/core/occupancy/accounts.ts";
import { addStay, noStays } from "../../src/core/occupancy/stay-sketch.ts";
import { addBucket, byStatus, emptyBucket } from "../../src/core/occupancy/bucket.ts";
import { resolutionMs } from "../../src/core/occupancy/bucket.ts";
import type { Bucket, NameAccount, Resolution } from "../../src/core/occupancy/bucket.ts";
import type { StaySketch } from "../../src/core/occupancy/stay-sketch.ts";
import { createBucketWriter } from "../../src/store/bucket-rows.ts";
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

/** Days are taken from so many. */
const distinctDays = 24;
/** Servers of each name. */
const serversPerName = 5;
/** Of each name and status in an hour. */
const staysPerHour = 6;

/** Writes hours and days as polls would have left them. */
export async function writeBuckets(kysely: Kysely<Tables>, wanted: BucketsWanted): Promise<void> {
  const random = seededRandom(wanted.seed);
  const writer = createBucketWriter(kysely);
  const beginMs = wanted.endMs - wanted.days * resolutionMs["1d"];
  for (let index = 0; index < wanted.targets; index += 1) {
    await kysely
      .insertInto("targets")
      .values({
        region: `region-${Math.floor(index / 10)}`,
        key: `key-${index % 10}`,
        attempted_polls: 1,
        attempted_ms: 0,
        observed_polls: 1,
        observed_ms: 0,
        failures_in_a_row: 0,
        last_failure: null,
        last_poll_at_ms: wanted.endMs,
        last_success_at_ms: wanted.endMs,
        last_complete: 1,
      })
      .execute();
  }
  const targets = await kysely.selectFrom("targets").select("id").execute();
  const days = Array.from({ length: distinctDays }, () => randomDay(wanted.names, random));
  for (let dayMs = beginMs; dayMs < wanted.endMs; dayMs += resolutionMs["1d"]) {
    const chosen = targets.map(({ id }) => ({ id, day: days[Math.floor(random() * days.length)] }));
    await kysely.transaction().execute(async (trx) => {
      const write = (id: number, resolution: Resolution, bucket: Bucket) =>
        writer.write(trx, id, { accounts: noAccounts, written: [{ resolution, bucket }] });
      for (let hour = 0; hour < 24; hour += 1) {
        const startMs = dayMs + hour * resolutionMs["1h"];
        for (const { id, day } of chosen) {
          const bucket = day?.hours[hour];
          if (bucket) await write(id, "1h", { ...bucket, startMs });
        }
      }
      for (const { id, day } of chosen) {
        if (day) await write(id, "1d", { ...day.whole, startMs: dayMs });
      }
    });
  }
}

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
    const error = random() < 0.05 ? Math.floor(random() * 0.2 * ms) : 0;
    const idle = Math.max(0, serversPerName * ms - occupied - error);
    const most = { idle: 4, occupied: 4, error: error > 0 ? 1 : 0, unknown: 0 };
    const least = { idle: 1, occupied: 1, error: 0, unknown: 0 };
    accounts.set(`server-${index}`, {
      ms: { idle, occupied, error, unknown: 0 },
      unobservedMs: serversPerName * ms - idle - occupied - error,
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
  for (let stay = 0; stay < staysPerHour; stay += 1) {
    stays = addStay(stays, 30_000 + random() ** 4 * 7_200_000);
  }
  return stays;
}
