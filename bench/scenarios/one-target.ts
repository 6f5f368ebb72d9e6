import { z } from "zod";
import { buildProgram, startDaemon } from "../support/daemon.ts";
import type { DaemonProcess } from "../support/daemon.ts";
import type { Fleet } from "../support/fleet.ts";
import {
  changeOnePercent,
  meanPollCpuMs,
  measureDelayAndMemory,
  measureStarts,
  nothing,
  pollOnce,
  untilShown,
} from "../support/fleet-polls.ts";
import type { Step, Watched } from "../support/fleet-polls.ts";
import { startFloors } from "../support/floors.ts";
import { startHelper } from "../support/helper.ts";
import type { Measurement } from "../support/row.ts";
import type { Scenario } from "../support/row.ts";
import { checkEqual, checkTotals, scrape } from "../support/scrape.ts";
import { startService } from "../support/service.ts";
import { median, percentile } from "../support/stats.ts";
import { tempFolder } from "../support/temp-folder.ts";

const region = "main";

interface Case {
  readonly what: string;
  readonly step: Step;
  readonly budget: number;
  /** Receiving included. */
  readonly wholeBudget?: number;
}

const cases: readonly Case[] = [
  { what: "nothing changed", step: nothing, budget: 0.2 },
  { what: "1 % of statuses changed", step: changeOnePercent, budget: 1, wholeBudget: 1.5 },
  { what: "every updated_at touched", step: (fleet) => fleet.touch(), budget: 2.5 },
  { what: "another order", step: (fleet) => fleet.shuffle(), budget: 3 },
  { what: "every status changed", step: (fleet) => fleet.change(1), budget: 20 },
];

interface Size {
  readonly servers: number;
  /** Polls of each kind before any counts, until the code of all of them is compiled. */
  readonly warmUps: number;
  readonly rounds: number;
  /** In each round: a sample is their mean, as garbage that one leaves is collected during another. */
  readonly polls: number;
  readonly scrapes: number;
  readonly alerts: number;
  readonly starts: number;
}

const sizes: { readonly full: Size; readonly quick: Size } = {
  full: { servers: 100_000, warmUps: 6, rounds: 3, polls: 4, scrapes: 5, alerts: 100, starts: 3 },
  quick: { servers: 20_000, warmUps: 2, rounds: 2, polls: 2, scrapes: 3, alerts: 5, starts: 1 },
};

/** One target of 100,000 servers, all from outside: the daemon is a process of its own, built as it is published. */
export const oneTarget: Scenario = {
  name: "one-target",
  async run({ quick }) {
    const size = quick ? sizes.quick : sizes.full;
    const of = `${size.servers.toLocaleString("en")} servers`;
    using folder = tempFolder();
    const program = await buildProgram(folder.path);
    await using service = await startService();
    await using floors = startFloors(service);
    const fleet = service.list(region, size.servers);
    service.sendOnce(region);
    const settings = { origin: service.origin, regions: [region] };
    const rows: Measurement[] = [];
    {
      await using daemon = await startDaemon(program, folder.path, settings);
      await untilShown(daemon.metricsUrl, size.servers);
      const watched: Watched = { service, daemon, floors, fleets: new Map([[region, fleet]]) };
      const limits = { polls: 3 * size.polls, delayMs: 20, mebibytes: 380 };
      rows.push(...(await measureDelayAndMemory(watched, of, limits)));
      rows.push(...(await measurePolls(watched, size, of)));
      rows.push(...(await measureScrapes(daemon, size)));
    }
    rows.push(await measureStarts(program, folder.path, settings, { ...size, of, budget: 2.5 }));
    const alerting = { ...settings, groupWait: "0s" };
    await using daemon = await startDaemon(program, folder.path, alerting);
    const watched: Watched = { service, daemon, floors, fleets: new Map([[region, fleet]]) };
    rows.push(await measureAlerts(watched, size, of));
    return rows;
  },
};

/** CPU of the daemon's process for a whole poll, without that of receiving the same bytes. */
async function measurePolls(watched: Watched, size: Size, of: string): Promise<Measurement[]> {
  const { floors, daemon, fleets } = watched;
  for (const { step } of cases) await meanPollCpuMs(watched, step, size.warmUps);
  await floors.receiveMs(region, 2 * size.warmUps);
  await floors.parseMs(region, 2 * size.warmUps);
  const rows: Measurement[] = [];
  for (const { what, step, budget, wholeBudget } of cases) {
    const parsesMs: number[] = [];
    const receivesMs: number[] = [];
    const pollsMs: number[] = [];
    for (let round = 0; round < size.rounds; round += 1) {
      receivesMs.push(await floors.receiveMs(region, size.polls));
      parsesMs.push(await floors.parseMs(region, size.polls));
      // What the case before leaves is not part of this one.
      await pollOnce(watched, step);
      pollsMs.push(await meanPollCpuMs(watched, step, size.polls));
    }
    await checkTotals(daemon.metricsUrl, region, fleetOf(fleets));
    const floor = { what: "JSON.parse", unit: "ms", samples: parsesMs };
    const ratio = (ms: number, round: number): number => ms / (parsesMs[round] ?? Number.NaN);
    rows.push({
      what: `poll of ${of}, ${what}`,
      unit: "x",
      floor,
      samples: pollsMs.map((ms, round) => ratio(ms - (receivesMs[round] ?? 0), round)),
      budget,
    });
    if (wholeBudget === undefined) continue;
    const samples = pollsMs.map(ratio);
    rows.push({
      what: `the same, receiving included`,
      unit: "x",
      floor,
      samples,
      budget: wholeBudget,
    });
  }
  return rows;
}

function fleetOf(fleets: Watched["fleets"]): Fleet {
  const fleet = fleets.get(region);
  if (!fleet) throw new Error("there is no fleet");
  return fleet;
}

/** The daemon's CPU for a series that is scraped over HTTP, against prom-client's for rendering one alone. */
async function measureScrapes(
  daemon: DaemonProcess,
  { servers, scrapes }: Size,
): Promise<Measurement[]> {
  await using client = startHelper("prom-client-process.ts");
  await client.ask("fill", servers, z.unknown());
  const clientNs: number[] = [];
  const ownNs: number[] = [];
  const counted = await scrape(daemon.metricsUrl, { countSeries: true });
  for (let turn = 0; turn <= scrapes; turn += 1) {
    const before = await daemon.read();
    const shown = await scrape(daemon.metricsUrl);
    const spentMs = (await daemon.read()).cpuMs - before.cpuMs;
    checkEqual("servers shown", shown.servers, servers);
    if (turn > 0) ownNs.push((spentMs * 1e6) / counted.series);
    if (turn > 3) continue;
    const clientMs = await client.ask("render", null, z.number());
    if (turn > 0) clientNs.push(clientMs * 1e6);
  }
  return [
    {
      what: `scrape of ${counted.series.toLocaleString("en")} series, prom-client's rendering against it`,
      unit: "x",
      floor: { what: "prom-client, a series", unit: "ns", samples: clientNs },
      samples: ownNs.map((ns) => median(clientNs) / ns),
      budget: 12,
      atLeast: true,
    },
  ];
}

/**
 * From the last byte of a listing in which one more server is in error to the first byte of the message. The receiver
 * groups without waiting; the service and the receiver have one clock.
 */
async function measureAlerts(watched: Watched, { alerts }: Size, of: string): Promise<Measurement> {
  const { service } = watched;
  /** A message that comes after the next poll is late, not missing. */
  const delaysAfter = async (step: Step): Promise<readonly number[]> => {
    await pollOnce(watched, step);
    for (let polls = 0; polls < 5; polls += 1) {
      const delays = service.takeAlertDelaysMs();
      if (delays.length > 0) return delays;
      await pollOnce(watched, nothing);
    }
    return [];
  };
  // What the polls before had to say goes first.
  while ((await delaysAfter(nothing)).length > 0);
  const samples: number[] = [];
  for (let turn = 0; turn < alerts + 3; turn += 1) {
    const delays = await delaysAfter((fleet) => fleet.breakOne());
    checkEqual("messages after a poll in which one server erred", delays.length, 1);
    if (turn >= 3) samples.push(...delays);
  }
  return {
    what: `new status to first byte at the webhook, p99 of ${alerts}, ${of}`,
    unit: "ms",
    samples: [percentile(samples, 0.99)],
    budget: 120,
  };
}
