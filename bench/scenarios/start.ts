import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { parseConfig } from "../../src/config/load-config.ts";
import { createDaemon } from "../../src/daemon.ts";
import { buildProgram } from "../support/built-program.ts";
import type { BuiltProgram } from "../support/built-program.ts";
import { daemonSettings } from "../support/daemon.ts";
import { freePort } from "../support/free-port.ts";
import { startPeer } from "../support/peer-client.ts";
import type { Scenario } from "../support/scenario.ts";
import { scrape } from "../support/scrape.ts";
import { tempFolder } from "../support/temp-folder.ts";

const starts = 3;
const patienceMs = 120_000;

/**
 * How long a fresh process takes, from being spawned, until a scrape that began after it shows every
 * server of the million in its store, to the last byte. The first poll of a start goes on meanwhile,
 * as it would in earnest. What the scraper itself takes to read so much is part of the time.
 */
export const start: Scenario = {
  name: "start",
  rounds: { full: 1, quick: 1 },
  async run({ quick }) {
    const servers = quick ? 100_000 : 1_000_000;
    using folder = tempFolder();
    await using peer = await startPeer();
    await peer.fleet("main", servers);
    const program = await buildProgram(folder.path);
    const port = await freePort();
    const settings = daemonSettings(
      { origin: peer.origin, regions: ["main"], every: "1h" },
      folder.path,
      `127.0.0.1:${port}`,
    );
    await fillStore(settings);

    const file = join(folder.path, "sandwatch.yaml");
    writeFileSync(file, JSON.stringify(settings));
    const totalsMs: number[] = [];
    const answersMs: number[] = [];
    for (let turn = 0; turn < starts; turn += 1) {
      const { answeredMs, totalMs } = await startOnce(program, file, port, servers);
      totalsMs.push(totalMs);
      answersMs.push(answeredMs);
    }
    const what = `spawn to whole scrape, ${servers.toLocaleString("en")} servers`;
    return [
      { what, unit: "ms", samples: totalsMs, target: 3_000 },
      { what: "of it until that scrape began", unit: "ms", samples: answersMs },
    ];
  },
};

async function fillStore(settings: object): Promise<void> {
  const parsed = parseConfig(settings);
  if (parsed.kind === "faulty") throw new Error(JSON.stringify(parsed.faults));
  const daemon = await createDaemon(parsed.config);
  await daemon.runOnce();
  await daemon.stop();
}

async function startOnce(program: BuiltProgram, file: string, port: number, servers: number) {
  const startedMs = performance.now();
  await using daemon = program.startDaemon({ file, isWeighed: false });
  const url = `http://127.0.0.1:${port}/metrics`;
  while (performance.now() - startedMs < patienceMs && !daemon.hasEnded()) {
    const beganMs = performance.now();
    // Refused until the process listens.
    const shown = await scrape({ url }).catch(() => null);
    if (shown?.serverInfos === servers) {
      return { answeredMs: beganMs - startedMs, totalMs: performance.now() - startedMs };
    }
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
  throw new Error(`a fresh process never exposed the ${servers} servers of its store`);
}
