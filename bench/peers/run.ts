import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { blackboxExporter, checkHttp, collectd, jsonExporter } from "./installed-peers.ts";
import { measure } from "./measure.ts";
import type { Effort } from "./measure.ts";
import { naiveExporter, sandwatch, sandwatchTotals } from "./node-peers.ts";
import type { Peer } from "./peer.ts";
import { abilitiesText, costTable } from "./report.ts";
import type { Outcome, Row } from "./report.ts";
import { openSite } from "./site.ts";
import type { Site } from "./site.ts";
import { findTool } from "./tool-process.ts";

/**
 * What a user would pick instead of sandwatch, on the same listings in one run:
 *
 *     node bench/peers/run.ts [--servers 1000,10000,100000] [--errors 0.001] [--only NAME]
 *
 * A tool that is not installed is reported as such, and one that fails as failed.
 */
const { values } = parseArgs({
  options: {
    servers: { type: "string", default: "1000,10000,100000" },
    seed: { type: "string", default: "1" },
    errors: { type: "string", default: "0.001" },
    changed: { type: "string", default: "0.01" },
    only: { type: "string", default: "" },
    out: { type: "string", default: join(import.meta.dirname, "results.json") },
  },
});

const everyPeer = [
  checkHttp,
  blackboxExporter,
  collectd,
  jsonExporter,
  naiveExporter,
  sandwatchTotals,
  sandwatch,
];
const peers = everyPeer.filter(({ name }) => name.includes(values.only));

/** Nothing that could be had and run here without building it. */
const leftOut = [
  ["Telegraf", "not in Debian; its packages come from its maker's own repository"],
  ["Uptime Kuma", "the npm package builds a native SQLite and a web page before it runs"],
  ["Gatus", "neither in Debian nor on npm; built from Go sources or run as an image"],
];

const shared = {
  seed: Number(values.seed),
  errorShare: Number(values.errors),
  changedShare: Number(values.changed),
};
const rows: Row[] = [];
for (const servers of values.servers.split(",").map(Number)) {
  const site = await openSite({ ...shared, servers }, everyMsFor(servers));
  try {
    const here: Row[] = [];
    for (const peer of peers) {
      const outcome = await outcomeOf(peer, site, effortFor(servers));
      const { errorShare } = shared;
      here.push({ peer: peer.name, servers, errorShare, listingBytes: site.listingBytes, outcome });
    }
    rows.push(...here);
    const mib = (site.listingBytes / 2 ** 20).toFixed(1);
    const title = `${servers.toLocaleString("en")} servers, a listing of ${mib} MiB`;
    process.stdout.write(`${title}\n\n${costTable(here)}\n`);
  } finally {
    site.close();
  }
}
process.stdout.write(`What each can tell\n\n${abilitiesText(peers)}\n`);
for (const [name, why] of leftOut) process.stdout.write(`${name}: not measured: ${why}\n`);

const tells = Object.fromEntries(peers.map((peer) => [peer.name, peer.tells]));
const results = {
  node: process.version,
  ...shared,
  rows,
  tells,
  leftOut: Object.fromEntries(leftOut),
};
await writeFile(values.out, `${JSON.stringify(results, undefined, 2)}\n`);

async function outcomeOf(peer: Peer, site: Site, effort: Effort): Promise<Outcome> {
  const program = peer.needs === undefined ? process.execPath : findTool(peer.needs);
  if (program === undefined) return { kind: "not measured", why: "not installed" };
  const folder = await mkdtemp(join(tmpdir(), "sandwatch-peers-"));
  try {
    const running = await peer.start(site, folder, program);
    try {
      return { kind: "measured", measured: await measure(running, site, effort) };
    } finally {
      if (running.kind !== "runs") await running.process.stop();
    }
  } catch (error) {
    return { kind: "not measured", why: error instanceof Error ? error.message : "it failed" };
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/** Long enough that a poll is over before the next one is due. */
function everyMsFor(servers: number): number {
  if (servers <= 1_000) return 1_000;
  return servers <= 10_000 ? 2_000 : 5_000;
}

function effortFor(servers: number): Effort {
  if (servers <= 1_000) return { warmUps: 60, polls: 20, probes: 100, scrapes: 20 };
  return servers <= 10_000
    ? { warmUps: 20, polls: 10, probes: 30, scrapes: 10 }
    : { warmUps: 8, polls: 5, probes: 10, scrapes: 3 };
}
