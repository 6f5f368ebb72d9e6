import { startDaemon } from "./daemon.ts";
import type { DaemonProcess, DaemonSettings, Reading } from "./daemon.ts";
import type { Fleet } from "./fleet.ts";
import type { Floors } from "./floors.ts";
import type { Measurement } from "./row.ts";
import { scrape } from "./scrape.ts";
import type { Service } from "./service.ts";

export type Step = (fleet: Fleet) => void;

export const nothing: Step = () => {};
export const changeOnePercent: Step = (fleet) => fleet.change(0.01);

const mebibyte = 2 ** 20;

/** A daemon of fleets that polls only what it is sent, and the service that sends it. */
export interface Watched {
  readonly service: Service;
  readonly daemon: DaemonProcess;
  /** By region. */
  readonly fleets: ReadonlyMap<string, Fleet>;
  readonly floors: Floors;
}

/** Lets the daemon poll every target once, after a step, and waits until it asks for the next listings. */
export async function pollOnce({ service, daemon, fleets }: Watched, step: Step): Promise<void> {
  const asked = (): Promise<unknown> =>
    daemon.whileRunning(
      Promise.all(Array.from(fleets.keys(), (name) => service.untilAskedAgain(name))),
    );
  await asked();
  for (const [region, fleet] of fleets) {
    step(fleet);
    service.sendNext(region);
  }
  await asked();
}

/** The daemon's CPU for a poll, with what goes on until the next one, as the mean of some. Milliseconds. */
export async function meanPollCpuMs(watched: Watched, step: Step, polls: number): Promise<number> {
  const before = await watched.daemon.read();
  for (let poll = 0; poll < polls; poll += 1) await pollOnce(watched, step);
  return ((await watched.daemon.read()).cpuMs - before.cpuMs) / polls;
}

/** How late the event loop gets while 1 % of statuses change from poll to poll, and what is resident then. */
export async function measureDelayAndMemory(
  watched: Watched,
  of: string,
  { polls, delayMs, mebibytes }: { polls: number; delayMs: number; mebibytes: number },
): Promise<readonly Measurement[]> {
  const { daemon, floors } = watched;
  const read: Reading[] = [];
  await floors.watch();
  await daemon.read("watch");
  for (let poll = 0; poll < polls; poll += 1) {
    await pollOnce(watched, changeOnePercent);
    read.push(await daemon.read());
  }
  const { delay, peakBytes } = await daemon.read("unwatch");
  const idleMs = await floors.unwatch();
  return [
    {
      what: `event-loop delay above idle while polling, p99, ${of}`,
      unit: "ms",
      floor: { what: "idle process", unit: "ms", samples: [idleMs] },
      samples: [Math.max(0, delay.p99Ms - idleMs)],
      budget: delayMs,
    },
    { what: `the longest, ${of}`, unit: "ms", samples: [delay.maxMs] },
    {
      what: `resident memory, ${of}`,
      unit: "MiB",
      samples: read.map(({ residentBytes }) => residentBytes / mebibyte),
      budget: mebibytes,
    },
    { what: `its peak since the start, ${of}`, unit: "MiB", samples: [peakBytes / mebibyte] },
  ];
}

/**
 * Starts of a new process, with what is stored, until a scrape shows every server to the last byte. Nothing is polled
 * meanwhile, as the service does not answer.
 */
export async function measureStarts(
  program: string,
  folder: string,
  settings: DaemonSettings,
  { servers, starts, of, budget }: { servers: number; starts: number; of: string; budget: number },
): Promise<Measurement> {
  const samples: number[] = [];
  for (let start = 0; start < starts; start += 1) {
    const startedMs = performance.now();
    // Of a shorter interval what is stored would be too old to be shown.
    await using daemon = await startDaemon(program, folder, { ...settings, every: "1h" });
    await daemon.whileRunning(untilShown(daemon.metricsUrl, servers));
    samples.push((performance.now() - startedMs) / 1_000);
  }
  return { what: `start until a complete scrape, ${of}`, unit: "s", samples, budget };
}

const longestMs = 120_000;

export async function untilShown(url: string, servers: number): Promise<void> {
  const startedMs = performance.now();
  while (performance.now() - startedMs < longestMs) {
    // Refused until the process listens.
    const shown = await scrape(url).catch(() => null);
    if (shown?.servers === servers) return;
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
  throw new Error(`${servers} servers were never shown`);
}
