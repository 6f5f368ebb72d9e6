import { setTimeout } from "node:timers/promises";
import { createPostgresServer } from "../../test/store/support/postgres-server.ts";
import { buildProgram, startDaemon, type DaemonProcess } from "../support/daemon.ts";
import { startFloors } from "../support/floors.ts";
import type { Measurement, Scenario } from "../support/row.ts";
import { checkEqual, total } from "../support/scrape.ts";
import { startService, type Service } from "../support/service.ts";
import { tempFolder } from "../support/temp-folder.ts";

const listing = "main";
const longestMs = 10 * 60_000;
const keys = 100;

interface Fleet {
  readonly targets: number;
  /** Of each target. */
  readonly servers: number;
  readonly intervalMs: number;
}

/**
 * Ten thousand targets, 100 keys in each of 100 regions, each with a listing of 50 KB in which nothing changes, on
 * their schedule. All CPU of the daemon's process over whole intervals, schedule and what is stored included, is shared out
 * to the polls in them, and held against the HTTP client alone: requests of the same listing, 50 at a time without a pause, and
 * as many at a time as the schedule begins.
 */
export const manyTargets: Scenario = {
  name: "many-targets",
  async run({ quick }) {
    const fleet = quick
      ? { targets: 1_000, servers: 130, intervalMs: 5_000 }
      : { targets: 10_000, servers: 130, intervalMs: 30_000 };
    await using service = await startService();
    await using floors = startFloors(service);
    service.list(listing, fleet.servers);
    const perSecond = fleet.targets / (fleet.intervalMs / 1_000);
    const saturatedMs = (): Promise<number> => floors.receiveMs(listing, 3_000, 50);
    const pacedMs = (): Promise<number> => floors.pacedMs(listing, 10 * perSecond, perSecond);
    // Until its code is compiled.
    for (let turn = 0; turn < 2; turn += 1) await saturatedMs();

    const floorsMs: Record<"saturated" | "paced", number[]> = { saturated: [], paced: [] };
    const samples = await measurePolls(service, fleet, null, async () => {
      floorsMs.saturated.push(await saturatedMs());
      floorsMs.paced.push(await pacedMs());
    });
    const costs = samples.map(({ cpuMs, polls }) => cpuMs / polls);
    const of = `${fleet.targets.toLocaleString("en")} targets of ${fleet.servers} servers`;
    const row = (kind: keyof typeof floorsMs, budget: number): Measurement => ({
      what: `CPU of a poll, ${of}, ÷ client ${kind}`,
      unit: "x",
      floor: { what: `HTTP client alone, ${kind}`, unit: "ms", samples: floorsMs[kind] },
      samples: costs.map((costMs, index) => costMs / (floorsMs[kind][index] ?? Number.NaN)),
      budget,
    });
    const rates = samples.map(({ polls }) => polls / fleet.targets);
    return [
      row("saturated", 2.5),
      row("paced", 1.5),
      { what: "polls of a target in an interval", unit: "", samples: rates },
    ];
  },
};

/** Fifty thousand targets of ten servers, on SQLite and on PostgreSQL: how much of a core the daemon's process takes. */
export const smallTargets: Scenario = {
  name: "small-targets",
  async run({ quick }) {
    const fleet = quick
      ? { targets: 2_000, servers: 10, intervalMs: 5_000 }
      : { targets: 50_000, servers: 10, intervalMs: 30_000 };
    const measurements: Measurement[] = [];
    for (const engine of ["SQLite", "PostgreSQL"] as const) {
      await using service = await startService();
      service.list(listing, fleet.servers);
      await using postgres = engine === "PostgreSQL" ? await startPostgres() : null;
      const samples = await measurePolls(service, fleet, postgres?.url ?? null, async () => {});
      measurements.push(
        {
          what: `cores, ${fleet.targets.toLocaleString("en")} targets of ${fleet.servers} servers, ${engine}`,
          unit: "",
          samples: samples.map(({ cpuMs, passedMs }) => cpuMs / passedMs),
          budget: 0.7,
        },
        {
          what: `polls of a target in an interval, ${engine}`,
          unit: "",
          samples: samples.map(({ polls }) => polls / fleet.targets),
        },
      );
    }
    return measurements;
  },
};

interface Sample {
  readonly cpuMs: number;
  readonly passedMs: number;
  readonly polls: number;
}

/** What the daemon takes in each of some intervals, once what it does first is over. */
async function measurePolls(
  service: Service,
  { targets, servers, intervalMs }: Fleet,
  postgres: string | null,
  afterEach: () => Promise<void>,
): Promise<readonly Sample[]> {
  using folder = tempFolder();
  const program = await buildProgram(folder.path);
  const regions = Array.from({ length: targets / keys }, (_, index) => `region-${index}`);
  await using daemon = await startDaemon(program, folder.path, {
    origin: service.origin,
    regions,
    listing,
    keys,
    every: `${intervalMs}ms`,
    perServer: false,
    groupWait: "0s",
    ...(postgres !== null && { postgres }),
  });
  const untilMs = performance.now() + longestMs;
  while (service.sent(listing) < targets) await daemon.whileRunning(pause(100, untilMs));
  await settle(service, daemon, { targets, servers, intervalMs }, untilMs);

  const samples: Sample[] = [];
  for (let interval = 0; interval < 4; interval += 1) {
    samples.push(await measure(service, daemon, intervalMs));
    await afterEach();
  }
  checkEqual("targets up", await total(daemon.metricsUrl, "sandwatch_target_up"), targets);
  const shown = await total(daemon.metricsUrl, "sandbox_servers");
  checkEqual("servers shown", shown, targets * servers);
  return samples;
}

/** Storing the first listings is no part of a poll in which nothing changes: it is over when the CPU time no longer falls. */
async function settle(
  service: Service,
  daemon: DaemonProcess,
  { targets, intervalMs }: Fleet,
  untilMs: number,
): Promise<void> {
  let lastMs = Infinity;
  for (;;) {
    await daemon.whileRunning(pause(0, untilMs));
    const { cpuMs, polls } = await measure(service, daemon, intervalMs);
    if (polls >= 0.99 * targets && cpuMs > 0.95 * lastMs) return;
    lastMs = cpuMs;
  }
}

async function measure(
  service: Service,
  daemon: DaemonProcess,
  intervalMs: number,
): Promise<Sample> {
  const sentBefore = service.sent(listing);
  const beganMs = performance.now();
  const { cpuMs: beforeMs } = await daemon.read();
  await daemon.whileRunning(setTimeout(intervalMs));
  const cpuMs = (await daemon.read()).cpuMs - beforeMs;
  const passedMs = performance.now() - beganMs;
  return { cpuMs, passedMs, polls: service.sent(listing) - sentBefore };
}

async function pause(ms: number, untilMs: number): Promise<void> {
  if (performance.now() > untilMs) throw new Error("the first polls took too long");
  await setTimeout(ms);
}

/** One of its own, which waits for the disk as usual. */
async function startPostgres(): Promise<AsyncDisposable & { readonly url: string }> {
  const server = createPostgresServer(undefined, []);
  await server.start();
  return {
    url: `postgresql:///postgres?user=test&host=${encodeURIComponent(server.folder)}`,
    [Symbol.asyncDispose]: () => server.remove(),
  };
}
