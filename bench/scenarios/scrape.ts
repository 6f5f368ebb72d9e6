import { join } from "node:path";
import { z } from "zod";
import type { Daemon } from "../../src/daemon.ts";
import { createServerFamilies } from "../../src/metrics/server-families.ts";
import { renderServerSeries, seriesPress } from "../../src/metrics/server-series.ts";
import { StampPress } from "../../src/platform/stamping/stamp-press.ts";
import { checkEqual, checkServers } from "../support/check.ts";
import { openDaemon } from "../support/daemon.ts";
import { imageArguments } from "../support/image.ts";
import { createLoopWatch } from "../support/loop-watch.ts";
import { cpuMs, mainThreadCpuMs, settledMemoryBytes } from "../support/meters.ts";
import { startPeer } from "../support/peer-client.ts";
import type { Peer } from "../support/peer-client.ts";
import { startHelper } from "../support/rpc.ts";
import type { Measurement, Scenario } from "../support/scenario.ts";
import type { Scrape } from "../support/scrape.ts";
import { percentile } from "../support/stats.ts";

const mebibyte = 2 ** 20;
const warmUps = 5;
const scrapes = 11;

/**
 * Scrapes of a million series for each server, by another process. CPU of the daemon's process for
 * each series is held against prom-client's `register.metrics()` of as many of the same kind, in a
 * process of its own. Besides: how late the event loop gets beside an idle process, by how much
 * memory grows, and what the main thread pays when the scraper asks for compression.
 */
export const scrape: Scenario = {
  name: "scrape",
  rounds: { full: 1, quick: 1 },
  nodeArguments: imageArguments,
  async run({ quick }) {
    const servers = quick ? 20_000 : 150_000;
    const clientNsASeries = await measurePromClient(servers);
    await using peer = await startPeer();
    const prepared = await peer.fleet("main", servers);
    await using opened = await openDaemon({ origin: peer.origin, regions: ["main"] });
    await opened.daemon.runOnce();
    await settledMemoryBytes();
    const memory = watchMemory();
    const counted = await peer.scrape({ url: opened.url, countSeries: true });
    checkServers(counted, "main", prepared);
    checkEqual("servers exposed", counted.serverInfos, servers);

    const plain = await measureScrapes(peer, { url: opened.url, expected: counted });
    const growthBytes = memory.stop();
    const { own, control } = await measureDelay(peer, opened.url);
    const rows: Measurement[] = [
      cpuRow(clientNsASeries, plain.cpuMs, counted.series),
      {
        ...cpuRow(clientNsASeries, measureRendering(opened.daemon), counted.series),
        what: "the same, rendering alone as prom-client's is",
      },
      { what: "CPU of a scrape, all threads", unit: "ms", samples: plain.cpuMs },
      {
        what: "event-loop delay above idle, p99.9",
        unit: "ms",
        floor: "idle process",
        floorUnit: "ms",
        floorSamples: [control.p999Ms],
        samples: [own.p999Ms - control.p999Ms],
        target: 5,
      },
      {
        what: "event-loop delay, longest",
        unit: "ms",
        floor: "idle process",
        floorUnit: "ms",
        floorSamples: [control.maxMs],
        samples: [own.maxMs],
      },
      {
        what: "memory growth over the scrapes",
        unit: "MiB",
        samples: [growthBytes / mebibyte],
        target: 16,
      },
    ];
    for (const encoding of ["gzip", "zstd"]) {
      const packed = await measureScrapes(peer, { url: opened.url, expected: counted, encoding });
      rows.push({
        what: `main thread's CPU with ${encoding}${packed.encoding === encoding ? "" : " (not offered)"}`,
        unit: "ms",
        floor: "uncompressed",
        floorUnit: "ms",
        floorSamples: plain.mainMs,
        samples: packed.encoding === encoding ? packed.mainMs : [],
      });
    }
    return rows;
  },
};

function cpuRow(
  clientNs: readonly number[],
  ownMs: readonly number[],
  series: number,
): Measurement {
  const floorNs = percentile(clientNs, 0.5);
  return {
    what: `times less CPU a series, ${series.toLocaleString("en")} series`,
    unit: "x",
    floor: "prom-client",
    floorUnit: "ns",
    floorSamples: [...clientNs],
    samples: ownMs.map((ms) => floorNs / ((ms * 1e6) / series)),
    target: 50,
    atLeast: true,
  };
}

interface ScrapeCase {
  readonly url: string;
  readonly expected: Scrape;
  readonly encoding?: string;
}

/** CPU in ms of rendering the series of servers and sandboxes, without sending them anywhere. */
function measureRendering({ targets }: Daemon): readonly number[] {
  const costsMs: number[] = [];
  const press = new StampPress(seriesPress);
  for (let turn = 0; turn < warmUps + scrapes; turn += 1) {
    const before = cpuMs();
    const shown = targets.map(({ target, state }) => ({ target, pages: state.snapshot.pages }));
    for (const piece of renderServerSeries(shown, createServerFamilies(), "text", press)) {
      if (piece.length === 0) throw new Error("nothing was rendered");
    }
    if (turn >= warmUps) costsMs.push(cpuMs() - before);
  }
  return costsMs;
}

/** As they follow one another, with what they leave to be collected. The first ones are not counted. */
async function measureScrapes(peer: Peer, { url, expected, encoding = "identity" }: ScrapeCase) {
  const cpu: number[] = [];
  const main: number[] = [];
  let answered = encoding;
  for (let turn = 0; turn < warmUps + scrapes; turn += 1) {
    const before = { cpuMs: cpuMs(), mainMs: mainThreadCpuMs() };
    const shown = await peer.scrape({ url, acceptEncoding: encoding });
    const spentMs = { cpuMs: cpuMs() - before.cpuMs, mainMs: mainThreadCpuMs() - before.mainMs };
    checkEqual("servers exposed", shown.serverInfos, expected.serverInfos);
    answered = shown.encoding;
    if (turn < warmUps) continue;
    cpu.push(spentMs.cpuMs);
    main.push(spentMs.mainMs);
  }
  return { cpuMs: cpu, mainMs: main, encoding: answered };
}

async function measureDelay(peer: Peer, url: string) {
  await using watch = await createLoopWatch();
  await watch.start();
  for (let turn = 0; turn < scrapes; turn += 1) await peer.scrape({ url });
  return await watch.stop();
}

const memoryEveryMs = 5;

/** By how much resident memory is above that of now, at the most. */
function watchMemory(): { readonly stop: () => number } {
  const startBytes = process.memoryUsage.rss();
  let mostBytes = startBytes;
  const look = (): void => void (mostBytes = Math.max(mostBytes, process.memoryUsage.rss()));
  const timer = setInterval(look, memoryEveryMs);
  return {
    stop() {
      clearInterval(timer);
      look();
      return mostBytes - startBytes;
    },
  };
}

const renderedSchema = z.object({ cpuMs: z.number(), series: z.number() });

/** Nanoseconds of CPU for each series. */
async function measurePromClient(servers: number): Promise<number[]> {
  await using client = await startHelper(
    join(import.meta.dirname, "../support/prom-client-process.ts"),
    ["--expose-gc", "--max-old-space-size=6144"],
  );
  await client.ask("fill", servers, z.unknown());
  const costsNs: number[] = [];
  for (let turn = 0; turn < 4; turn += 1) {
    const { cpuMs: renderMs, series } = await client.ask("render", null, renderedSchema);
    if (turn > 0) costsNs.push((renderMs * 1e6) / series);
  }
  return costsNs;
}
