import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { sql } from "kysely";
import { resolutionMs } from "../../src/core/occupancy/bucket.ts";
import { openDatabase } from "../../src/store/database.ts";
import { buildProgram } from "../support/built-program.ts";
import type { Took } from "../support/built-program.ts";
import type { Measurement, Scenario } from "../support/scenario.ts";
import { tempFolder } from "../support/temp-folder.ts";
import { keyOf, regionOf, writeBuckets } from "../support/year-of-buckets.ts";

const names = 20;
const turns = 5;
const dayMs = resolutionMs["1d"];

/**
 * `sandwatch report` against a store with a year of hours and days of 100 targets of 20 names, each
 * run in a process of its own, from being spawned to its end. What is told is counted and dropped.
 */
export const report: Scenario = {
  name: "report",
  rounds: { full: 1, quick: 1 },
  async run({ quick }) {
    using folder = tempFolder();
    const targets = quick ? 10 : 100;
    const days = quick ? 60 : 365;
    const endMs = Math.floor(Date.now() / dayMs) * dayMs;
    const store = join(folder.path, "report.db");
    await fill(store, { targets, names, days, endMs, seed: 1 });
    const config = join(folder.path, "sandwatch.yaml");
    writeFileSync(config, JSON.stringify(settingsOf(store, targets)));

    const day = (before: number): string => new Date(endMs - before * dayMs).toISOString();
    const program = await buildProgram(folder.path);
    const run = async (options: readonly string[], leastBytes: number): Promise<Took[]> => {
      const took: Took[] = [];
      for (let turn = 0; turn < turns; turn += 1) {
        const one = await program.run(["report", "--config", config, "--to", day(0), ...options]);
        // Nothing is measured of a store in which nothing was found.
        if (one.bytes < leastBytes) throw new Error(`a report told ${one.bytes} bytes`);
        took.push(one);
      }
      return took;
    };
    const month = ["--from", day(30)];
    const year = ["--from", day(days)];
    const hourly = await run([...month, "--by", "hour"], 720 * 40);
    return [
      ...rows(`30 days by hour, ${targets} targets`, hourly, { ms: 1_000, megabytes: 150 }),
      ...rows(
        `30 days by day and name`,
        await run([...month, "--by", "day,server_name"], 600 * 40),
      ),
      ...rows(`${days} days by target`, await run([...year, "--by", "region,key"], targets * 40)),
      ...rows(
        `${days} days by hour of each target, as CSV`,
        await run(
          [...year, "--by", "region,key,hour", "--format", "csv"],
          targets * days * 24 * 100,
        ),
      ),
    ];
  },
};

async function fill(file: string, wanted: Parameters<typeof writeBuckets>[1]): Promise<void> {
  const { kysely, close } = openDatabase(file);
  await sql`pragma synchronous = off`.execute(kysely);
  await writeBuckets(kysely, wanted);
  await close();
}

function settingsOf(store: string, targets: number): object {
  const indexes = Array.from({ length: targets }, (_, index) => index);
  const regions = [...new Set(indexes.map(regionOf))];
  const keys = [...new Set(indexes.map(keyOf))];
  return {
    regions: Object.fromEntries(
      regions.map((name, index) => [name, { base_url: `http://127.0.0.1:${index + 1}` }]),
    ),
    keys: keys.map((name) => ({ name, api_key: `secret-of-${name}` })),
    store: { path: store },
  };
}

function rows(
  what: string,
  took: readonly Took[],
  most?: { readonly ms: number; readonly megabytes: number },
): Measurement[] {
  return [
    {
      what,
      unit: "ms",
      samples: took.map(({ elapsedMs }) => elapsedMs),
      ...(most && { target: most.ms }),
    },
    {
      what: `${what}: peak memory`,
      unit: "MB",
      samples: took.map(({ peakBytes }) => peakBytes / 1e6),
      ...(most && { target: most.megabytes }),
    },
  ];
}
