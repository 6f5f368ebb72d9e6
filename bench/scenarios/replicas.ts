import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { setTimeout } from "node:timers/promises";
import { z } from "zod";
import {
  createPostgresServer,
  type PostgresServer,
} from "../../test/store/support/postgres-server.ts";
import { buildProgram, startDaemon, type DaemonProcess } from "../support/daemon.ts";
import { startHelper, type Helper } from "../support/helper.ts";
import { cpuOfTreeMs } from "../support/process-cpu.ts";
import type { Measurement, Scenario } from "../support/row.ts";
import { checkEqual, total } from "../support/scrape.ts";
import { startService } from "../support/service.ts";
import { median, percentile } from "../support/stats.ts";
import { tempFolder } from "../support/temp-folder.ts";

const readSchema = z.object({ polls: z.number(), cpuMs: z.number() });
const nothing = z.unknown();
const polledSchema = z.object({
  targets: z.array(z.object({ key: z.string(), last_poll_at: z.string() })),
});

const keys = 100;
const servers = 10;
const listing = "main";
/** How many are measured. */
const intervals = 6;

interface Cost {
  /** CPU of all daemons, and of PostgreSQL, for a poll. Milliseconds. */
  readonly daemonsMs: number;
  readonly postgresMs: number;
  /** The share of one core that a daemon takes. */
  readonly share: number;
}

/**
 * Replicas on one PostgreSQL. The machine has few cores for PostgreSQL, the service and all replicas, so what it can show of
 * several is what a poll costs each of them: with as many cores as there are replicas, and some for PostgreSQL, they poll as much
 * more as their polls do not cost more.
 */
export const replicas: Scenario = {
  name: "replicas",
  async run({ quick }) {
    const commits = await withPostgres((server) => measureCommits(server, quick));
    const measureReplicas = (count: number) =>
      withPostgres((server) => measurePolls(server, count, quick));
    const one = await measureReplicas(1);
    const four = await measureReplicas(4);
    // The intervals of the two runs do not belong together, so only their medians are compared.
    const compare = (what: "daemonsMs" | "postgresMs") => {
      const ofOne = one.costs.map((cost) => cost[what]);
      const ofFour = four.costs.map((cost) => cost[what]);
      return {
        unit: "x",
        samples: [median(ofFour) / median(ofOne)],
        floor: { what: "one", unit: "ms", samples: ofOne },
      };
    };
    const of = `${one.targets.toLocaleString("en")} targets every ${one.seconds} s`;
    return [
      ...commits,
      {
        what: `cores that one replica takes, ${of}`,
        unit: "",
        samples: one.costs.map(({ share }) => share),
        budget: 1,
      },
      {
        what: "cores that PostgreSQL takes with it",
        unit: "",
        samples: one.costs.map((cost) => (cost.share * cost.postgresMs) / cost.daemonsMs),
      },
      {
        what: "CPU of a poll, four replicas with four times the targets ÷ one",
        ...compare("daemonsMs"),
        // Then four replicas on machines of their own poll 85 % of four times as much.
        budget: 1 / 0.85,
      },
      { what: "CPU of PostgreSQL for it, four ÷ one", ...compare("postgresMs") },
      {
        what: "CPU of a poll with four replicas",
        unit: "ms",
        samples: four.costs.map((cost) => cost.daemonsMs),
      },
      ...(await withPostgres((server) => measureViews(server, quick))),
    ];
  },
};

/** With the usual settings of Debian's package: each commit reaches the disk. */
async function withPostgres<Result>(use: (server: PostgresServer) => Promise<Result>) {
  const server = createPostgresServer(undefined, []);
  try {
    await server.start();
    return await use(server);
  } finally {
    await server.remove();
  }
}

const urlOf = (server: PostgresServer): string =>
  `postgresql:///postgres?user=test&host=${encodeURIComponent(server.folder)}`;

/** Processes that commit polls as fast as they can, without calling a service. */
async function measureCommits(server: PostgresServer, quick: boolean) {
  const samples: number[] = [];
  const writerMs: number[] = [];
  const postgresMs: number[] = [];
  await using ending = new AsyncDisposableStack();
  const writers: Helper[] = [];
  const url = urlOf(server);
  for (const name of ["writer-0", "writer-1"]) {
    const writer = ending.use(startHelper("committer-process.ts"));
    await writer.ask("start", { url, schema: "sandwatch", name, targets: 1_000 }, nothing);
    writers.push(writer);
  }
  const read = async () => {
    const all = await Promise.all(writers.map((writer) => writer.ask("read", null, readSchema)));
    return {
      polls: all.reduce((sum, { polls }) => sum + polls, 0),
      cpuMs: all.reduce((sum, { cpuMs }) => sum + cpuMs, 0),
      postgresMs: cpuOfTreeMs(server.pid()),
      atMs: performance.now(),
    };
  };
  // Until its code is compiled.
  await setTimeout(quick ? 2_000 : 5_000);
  for (let sample = 0; sample < 5; sample += 1) {
    const before = await read();
    await setTimeout(quick ? 1_000 : 4_000);
    const after = await read();
    const polls = after.polls - before.polls;
    samples.push((polls / (after.atMs - before.atMs)) * 1_000);
    writerMs.push((after.cpuMs - before.cpuMs) / polls);
    postgresMs.push((after.postgresMs - before.postgresMs) / polls);
  }
  for (const writer of writers) await writer.ask("stop", null, nothing);
  return [
    {
      what: "polls that two processes judge and commit into one PostgreSQL in a second",
      unit: "",
      samples,
      budget: 3_000,
      atLeast: true,
    },
    { what: "CPU of the process for such a poll", unit: "ms", samples: writerMs },
    { what: "CPU of PostgreSQL for such a poll", unit: "ms", samples: postgresMs },
  ] satisfies readonly Measurement[];
}

/** Whole daemons on their schedule, which share out the targets. Resolves when all listings are stored. */
async function startReplicas(
  server: PostgresServer,
  ending: AsyncDisposableStack,
  { count, regions, intervalMs }: Readonly<Record<"count" | "regions" | "intervalMs", number>>,
) {
  const folder = ending.use(tempFolder()).path;
  const program = await buildProgram(folder);
  const service = ending.use(await startService());
  const fleet = service.list(listing, servers);
  const daemons: DaemonProcess[] = [];
  for (let index = 0; index < count; index += 1) {
    const own = join(folder, `replica-${index}`);
    mkdirSync(own);
    const daemon = await startDaemon(program, own, {
      origin: service.origin,
      regions: Array.from({ length: regions }, (_, region) => `region-${region}`),
      listing,
      keys,
      every: `${intervalMs}ms`,
      perServer: false,
      postgres: urlOf(server),
    });
    daemons.push(ending.use(daemon));
  }
  // Storing the first listings is no part of a poll in which nothing changes, and the replicas share out the targets.
  await setTimeout(2.5 * intervalMs);
  return { service, fleet, daemons };
}

/** Over whole intervals. Each replica has as many targets, on average. */
async function measurePolls(server: PostgresServer, count: number, quick: boolean) {
  const regions = count * (quick ? 5 : 25);
  const targets = regions * keys;
  const intervalMs = quick ? 10_000 : 30_000;
  await using ending = new AsyncDisposableStack();
  const { service, daemons } = await startReplicas(server, ending, { count, regions, intervalMs });
  const read = async () => {
    const all = await Promise.all(daemons.map((daemon) => daemon.read()));
    return {
      polls: service.sent(listing),
      cpuMs: all.reduce((sum, { cpuMs }) => sum + cpuMs, 0),
      postgresMs: cpuOfTreeMs(server.pid()),
    };
  };
  const costs: Cost[] = [];
  for (let interval = 0; interval < intervals; interval += 1) {
    const before = await read();
    await setTimeout(intervalMs);
    const after = await read();
    const polls = after.polls - before.polls;
    const cpuMs = after.cpuMs - before.cpuMs;
    costs.push({
      daemonsMs: cpuMs / polls,
      postgresMs: (after.postgresMs - before.postgresMs) / polls,
      share: cpuMs / intervalMs / count,
    });
  }
  const up = await Promise.all(
    daemons.map(({ metricsUrl }) => total(metricsUrl, "sandwatch_target_up")),
  );
  checkEqual(
    "targets up",
    up.reduce((sum, each) => sum + each),
    targets,
  );
  return { targets, seconds: intervalMs / 1_000, costs };
}

/** How late each of two replicas shows what the other one polls, while each poll finds a change. */
async function measureViews(server: PostgresServer, quick: boolean) {
  const [regions, intervalMs] = quick ? [5, 5_000] : [25, 25_000];
  await using ending = new AsyncDisposableStack();
  const size = { count: 2, regions, intervalMs };
  const { service, fleet, daemons } = await startReplicas(server, ending, size);
  const startedAt = new Date().toISOString();
  const watch = async ({ metricsUrl }: DaemonProcess, untilMs: number) => {
    const url = new URL(`api/v1/targets?region=region-0&limit=${keys}`, metricsUrl);
    const shownAtMs = new Map<string, number>();
    for (; performance.now() < untilMs; await setTimeout(20)) {
      const { targets } = polledSchema.parse(await (await fetch(url)).json());
      for (const { key, last_poll_at: polledAt } of targets) {
        const poll = `${key} ${polledAt}`;
        const isNew = polledAt > startedAt && !shownAtMs.has(poll);
        if (isNew) shownAtMs.set(poll, performance.now());
      }
    }
    return shownAtMs;
  };
  const endMs = performance.now() + 3 * intervalMs;
  const watching = Promise.all(daemons.map((daemon) => watch(daemon, endMs)));
  for (let interval = 0; interval < 3; interval += 1) {
    fleet.change(1 / servers);
    service.sendNext(listing);
    await Promise.race([watching, setTimeout(intervalMs)]);
  }
  const [one = new Map<string, number>(), other = one] = await watching;
  // The replica that polls the target shows a change first, as soon as it is committed.
  const lateMs = Array.from(one).flatMap(([poll, atMs]) => {
    const otherMs = other.get(poll);
    return otherMs === undefined ? [] : [Math.abs(atMs - otherMs)];
  });
  const what = "from the commit of a change until another replica shows it";
  return [
    { what, unit: "ms", samples: lateMs },
    { what: `${what}, p99`, unit: "ms", samples: [percentile(lateMs, 0.99)] },
  ] satisfies readonly Measurement[];
}
