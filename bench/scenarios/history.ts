import { spawn } from "node:child_process";
import { once } from "node:events";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { resolutionMs } from "../../src/fleet/buckets.ts";
import { openStore } from "../../src/store/store.ts";
import { names, writeChanges } from "../support/changes.ts";
import { buildProgram } from "../support/daemon.ts";
import type { Scenario } from "../support/row.ts";
import { tempFolder } from "../support/temp-folder.ts";
import { bucketBytes, bytesOf, rowsOf, writeYear } from "../support/year.ts";

const dayMs = resolutionMs["1d"];
const startMs = Date.UTC(2026, 0, 1);
const dayTargets = 10;

/**
 * What a year of 100 targets with 20 names of 5 servers takes, and a report of it: `sandwatch report` in a process of its
 * own, from being spawned to its end, without a daemon.
 */
export const history: Scenario = {
  name: "history",
  async run({ quick }) {
    using folder = tempFolder();
    const copies = quick ? 1 : 10;
    const days = quick ? 60 : 365;
    const targets = copies * dayTargets;
    const endMs = Math.floor(Date.now() / dayMs) * dayMs;
    const dayFile = join(folder.path, "day.db");
    const file = join(folder.path, "year.db");
    await writeDay(dayFile);
    await writeYear(file, {
      dayFile,
      dayMs: startMs,
      copies,
      endMs,
      days: { "15m": 0, "1h": days, "1d": days },
    });

    const config = join(folder.path, "sandwatch.yaml");
    writeFileSync(config, JSON.stringify(configOf(file, copies)));
    const program = await buildProgram(folder.path);
    const from = new Date(endMs - 30 * dayMs).toISOString();
    const to = new Date(endMs).toISOString();
    const args = ["report", "--config", config, "--from", from, "--to", to, "--by", "hour"];
    const samples: number[] = [];
    for (let turn = 0; turn < 5; turn += 1) samples.push(await timeRun(program, args, 720 * 40));
    const of = `${targets} targets of ${names} names`;
    return [
      {
        what: `report of 30 days by hour, ${of}, out of ${days} days`,
        unit: "s",
        samples,
        budget: 2,
      },
      {
        what: `rollups of ${days} days, ${of}`,
        unit: "GB",
        samples: [bucketBytes(file) / 1e9],
        budget: 3,
      },
      {
        what: "a row of a rollup",
        unit: "bytes",
        samples: [bytesOf(file, ["rollups"]) / rowsOf(file, "rollups")],
      },
      {
        what: "a change",
        unit: "bytes",
        samples: [bytesOf(dayFile, ["changes"]) / rowsOf(dayFile, "changes")],
        budget: 120,
      },
    ];
  },
};

/** Writes a day of targets of which every server changes status 12 times, and rolls it up. */
async function writeDay(file: string): Promise<void> {
  const day = { fromMs: startMs, toMs: startMs + dayMs, isRolledUp: false };
  await writeChanges(file, { targets: dayTargets, servers: 5 * names, changesEach: 12, ...day });
  const store = openStore(file);
  while (await store.rollUp());
  await store.close();
}

function configOf(path: string, regions: number): object {
  const named = Array.from({ length: regions }, (_, index) => [
    `region-${index}`,
    { base_url: `http://127.0.0.1:${index + 1}` },
  ]);
  return {
    regions: Object.fromEntries(named),
    keys: Array.from({ length: dayTargets }, (_, index) => ({
      name: `key-${index}`,
      api_key: `not-a-real-key-${index}`,
    })),
    store: { path },
  };
}

/** Seconds. What it prints is counted and dropped: nothing is measured where nothing was found. */
async function timeRun(program: string, args: readonly string[], leastBytes: number) {
  const startedMs = performance.now();
  const child = spawn(process.execPath, [program, ...args], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  let bytes = 0;
  child.stdout.on("data", (chunk: Buffer) => void (bytes += chunk.length));
  const [code] = await once(child, "close");
  if (code !== 0 || bytes < leastBytes) {
    throw new Error(`sandwatch ${args.join(" ")} ended with ${code} after ${bytes} bytes`);
  }
  return (performance.now() - startedMs) / 1_000;
}
