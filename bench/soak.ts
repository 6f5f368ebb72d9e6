import { writeFileSync } from "node:fs";
import { cpus, loadavg } from "node:os";
import { join } from "node:path";
import { setTimeout } from "node:timers/promises";
import { parseArgs } from "node:util";
import { z } from "zod";
import { seededRandom } from "../src/lib/random.ts";
import type { Fault } from "../src/simulator/faults.ts";
import { configurations, configurationText, faultsFor } from "./soak/configuration.ts";
import { keys, regions } from "./soak/configuration.ts";
import { putLoad } from "./soak/load.ts";
import type { Done } from "./soak/load.ts";
import { compare, measureProcess } from "./soak/measure.ts";
import type { Point } from "./soak/measure.ts";
import { startSoaked } from "./soak/processes.ts";
import { startSink } from "./soak/sink.ts";
import { buildProgram, freePort } from "./support/daemon.ts";
import { startHelper } from "./support/helper.ts";
import { tempFolder } from "./support/temp-folder.ts";

/**
 * `node bench/soak.ts --minutes N [--seed S] [--log FILE]` puts everything on a daemon at once while its service and receivers fail,
 * and fails itself if memory, handles or descriptors do not return to where they were, or if the log has an error.
 */
const { values } = parseArgs({
  options: {
    minutes: { type: "string", default: "10" },
    seed: { type: "string", default: "1" },
    log: { type: "string" },
  },
});
const minutes = Number(values.minutes);
const seed = Number(values.seed);
if (!(minutes >= 1) || !Number.isInteger(seed)) {
  process.stderr.write("--minutes is 1 or more, --seed a whole number\n");
  process.exit(2);
}

/** Between two loads, the service and the receivers work, and nobody is connected. */
const quietSeconds = Math.min(20, Math.max(8, minutes * 6));
const loadedSeconds = minutes * 60 - 3 * quietSeconds;
/** In the last part nothing is reloaded: what one daemon accumulates would be gone with it. */
const parts = [
  { name: "after warm-up", share: 0.2, reloads: true },
  { name: "middle", share: 0.4, reloads: true },
  { name: "end", share: 0.4, reloads: false },
];
/** Targets, probes and receivers: each keeps one connection at most. */
const connections = 2 * regions.length * keys.length + 5;
const longestStopMs = 10_000;
const longestDrainSeconds = 60;

const random = seededRandom(seed);
using folder = tempFolder();
const program = await buildProgram(folder.path);
await using sink = await startSink(random);
await using service = startHelper("../soak/service-process.ts");
const addresses = z.array(z.tuple([z.string(), z.string()]));
const services = new Map(await service.ask("services", null, addresses));
const startedMs = performance.now();
const secondsPassed = (): number => (performance.now() - startedMs) / 1_000;
const setFaults = (faults: readonly Fault[]): Promise<unknown> =>
  service.ask("fail", faults, z.unknown());

const port = await freePort();
const origin = `http://127.0.0.1:${port}`;
const metricsUrl = `${origin}/metrics`;
const store = join(folder.path, "sandwatch.db");
const configFile = join(folder.path, "sandwatch.yaml");
const places = { services, sink: sink.origin, port, store };
const usual = configurationText(places, null);
// A backup must not read the file that is being changed.
const backupConfig = join(folder.path, "backup.yaml");
for (const file of [configFile, backupConfig]) writeFileSync(file, usual);
const daemon = await startSoaked(program, configFile, values.log);

const done: Done = { counts: {}, faults: [] };
let reloads = 0;
const reload = async (): Promise<void> => {
  const change = reloads++ % (configurations + 1);
  await daemon.reload(configurationText(places, change === configurations ? null : change));
};
const backupFile = join(folder.path, "backup.db");
const backup = [program, "backup", backupFile, "--config", backupConfig, "--force"];

/** All of the load, and the most memory meanwhile. */
async function load(seconds: number, isReloaded: boolean) {
  const fromS = secondsPassed();
  const untilS = fromS + seconds;
  const stopping = new AbortController();
  sink.setFailing(true);
  await setFaults(faultsFor(fromS, untilS, random));
  await daemon.read("watch");
  const ended = putLoad(
    { origin, random, done, backup, reload: isReloaded ? reload : null },
    stopping.signal,
  );
  let peakBytes = 0;
  while (secondsPassed() < untilS) {
    await daemon.whileRunning(setTimeout(1_000));
    peakBytes = Math.max(peakBytes, (await daemon.read()).residentBytes);
  }
  const loaded = await daemon.read("unwatch");
  stopping.abort();
  await ended;
  sink.setFailing(false);
  await setFaults([]);
  return { loaded, peakBytes };
}

const points: Point[] = [];
for (const { name, share, reloads: isReloaded } of parts) {
  process.stderr.write(`load until "${name}"; load average ${loadavg()[0]}\n`);
  const { loaded, peakBytes } = await load(share * loadedSeconds, isReloaded);
  if (isReloaded) await daemon.reload(usual);
  await daemon.whileRunning(setTimeout(quietSeconds * 1_000));
  // What the receivers did not accept waits for its next attempt.
  let measured = await measureProcess(daemon.pid, metricsUrl, store);
  for (let waits = 0; measured.pending > 0 && waits < longestDrainSeconds; waits += 1) {
    await daemon.whileRunning(setTimeout(1_000));
    measured = await measureProcess(daemon.pid, metricsUrl, store);
  }
  points.push({ name, quiet: await daemon.read("collect"), loaded, peakBytes, ...measured });
}

const streams = Array.from({ length: 3 }, () => fetch(`${origin}/api/v1/events`));
await Promise.all(streams);
const { end, ms } = await daemon.stop();

const { table, excess } = compare(points, connections);
const problems = [
  ...excess,
  ...daemon.faults.map((line) => `log: ${line}`),
  ...new Set(done.faults),
  ...(end === "0" ? [] : [`it ended with ${end}`]),
  ...(ms <= longestStopMs ? [] : [`it took ${Math.round(ms)} ms to stop`]),
];
const shown = Object.entries({ ...done.counts, reloads, "requests to receivers": sink.requests() });
process.stdout.write(`${table}
${minutes} minutes, seed ${seed}, Node.js ${process.version}, ${cpus().length} cores; stopped in ${Math.round(ms)} ms
done: ${shown.map(([what, count]) => `${what} ${count}`).join(", ")}
log: ${[...daemon.events].map(([event, count]) => `${event} ${count}`).join(", ")}
handles: ${points.map(({ quiet }) => JSON.stringify(quiet.kept?.handles)).join(" ")}
${problems.length === 0 ? "All as it should be.\n" : `${problems.join("\n")}\n`}`);
process.exitCode = problems.length === 0 ? 0 : 1;
