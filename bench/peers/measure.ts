import { spawn } from "node:child_process";
import { once } from "node:events";
import { setTimeout as delay } from "node:timers/promises";
import type { RunningPeer } from "./peer.ts";
import type { Site } from "./site.ts";
import { cpuMs, memory } from "./tool-process.ts";
import type { Memory, ToolProcess } from "./tool-process.ts";

export interface Measured {
  readonly cpuMsPerPoll: number;
  readonly memory: Memory;
  /** `undefined` for what is not scraped. Where a scrape is a poll, its cost is already in that one. */
  readonly scrape: Scrape | undefined;
}

export interface Scrape {
  readonly cpuMs: number;
  readonly medianMs: number;
  readonly bytes: number;
}

export interface Effort {
  /** Polls or probes before the first that counts: what runs for months has its code compiled. */
  readonly warmUps: number;
  readonly polls: number;
  /** Of what asks when it is told to: it need not be waited for, so there can be more of them. */
  readonly probes: number;
  readonly scrapes: number;
}

const probesPatienceMs = 300_000;

/** CPU per poll and scrape, and the memory at the end of all of them. */
export async function measure(peer: RunningPeer, site: Site, effort: Effort): Promise<Measured> {
  switch (peer.kind) {
    case "polls":
      return measurePolling(peer.process, peer.scrapeUrl, site, effort);
    case "probes":
      return measureProbing(peer.process, peer.scrapeUrl, site, effort);
    case "runs":
      return measureRuns(peer.command, peer.args, site, effort);
  }
}

/** From the arrival of one poll to that of another, so that what follows a poll is counted with it. */
async function measurePolling(
  process: ToolProcess,
  scrapeUrl: string,
  site: Site,
  effort: Effort,
): Promise<Measured> {
  const patienceMs = 60_000 + 3 * (effort.warmUps + effort.polls) * site.everyMs;
  await site.asked(effort.warmUps, patienceMs);
  const beforeMs = cpuMs(process.pid);
  await site.asked(effort.polls, patienceMs);
  const cpuMsPerPoll = (cpuMs(process.pid) - beforeMs) / effort.polls;

  // Polls go on meanwhile; a scrape's own cost is what is used beyond theirs. The last one counted
  // above has only arrived: its work must be over before the scrapes begin.
  await delay(site.everyMs / 2);
  const pollsBefore = site.askedSoFar();
  const scrapesBeforeMs = cpuMs(process.pid);
  const scrapes = await scrapeTimes(scrapeUrl, effort.scrapes);
  const polls = site.askedSoFar() - pollsBefore;
  const usedMs = cpuMs(process.pid) - scrapesBeforeMs - polls * cpuMsPerPoll;
  return {
    cpuMsPerPoll,
    memory: memoryOf(process),
    scrape: { ...scrapes, cpuMs: Math.max(0, usedMs / effort.scrapes) },
  };
}

async function measureProbing(
  process: ToolProcess,
  scrapeUrl: string,
  site: Site,
  effort: Effort,
): Promise<Measured> {
  await scrapeTimes(scrapeUrl, effort.warmUps);
  const beforeMs = cpuMs(process.pid);
  const [scrapes] = await Promise.all([
    scrapeTimes(scrapeUrl, effort.probes),
    site.asked(effort.probes, probesPatienceMs),
  ]);
  const cpuMsPerPoll = (cpuMs(process.pid) - beforeMs) / effort.probes;
  return { cpuMsPerPoll, memory: memoryOf(process), scrape: { ...scrapes, cpuMs: cpuMsPerPoll } };
}

async function measureRuns(
  command: string,
  args: readonly string[],
  site: Site,
  effort: Effort,
): Promise<Measured> {
  let most: Memory = { residentKiB: 0, peakKiB: 0 };
  const beforeMs = cpuMs("self", "children");
  for (let run = 0; run < effort.probes; run += 1) {
    const child = spawn(command, args, { stdio: "ignore" });
    const ended = once(child, "exit");
    const { pid } = child;
    // A process that has ended tells its memory no more, so it is asked all the while.
    const watching = setInterval(() => {
      const now = pid === undefined ? undefined : memory(pid);
      if (now !== undefined && now.peakKiB > most.peakKiB) most = now;
    }, 1);
    const asked = site.asked(1, probesPatienceMs);
    await Promise.all([ended, asked]).finally(() => clearInterval(watching));
    if ((child.exitCode ?? 3) > 2) throw new Error(`it ended with ${child.exitCode}`);
  }
  const cpuMsPerPoll = (cpuMs("self", "children") - beforeMs) / effort.probes;
  return { cpuMsPerPoll, memory: most, scrape: undefined };
}

function memoryOf(process: ToolProcess): Memory {
  const found = memory(process.pid);
  if (found === undefined) throw new Error("it ended while it was measured");
  return found;
}

async function scrapeTimes(url: string, times: number): Promise<Omit<Scrape, "cpuMs">> {
  const tookMs: number[] = [];
  let bytes = 0;
  for (let count = 0; count < times; count += 1) {
    const startedMs = performance.now();
    const response = await fetch(url);
    bytes = (await response.arrayBuffer()).byteLength;
    tookMs.push(performance.now() - startedMs);
    if (!response.ok) throw new Error(`a scrape was answered ${response.status}`);
  }
  tookMs.sort((one, other) => one - other);
  return { medianMs: tookMs[Math.floor(times / 2)] ?? Number.NaN, bytes };
}
