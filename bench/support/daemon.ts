import { randomInt } from "node:crypto";
import { createServer } from "node:net";
import { execFile, spawn } from "node:child_process";
import type { ChildProcess } from "node:child_process";
import { once } from "node:events";
import { symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { z } from "zod";

const root = join(import.meta.dirname, "../..");
const meterModule = join(import.meta.dirname, "daemon-meter.js");

const readingSchema = z.object({
  /** User and system, of all threads, since the process began. */
  cpuMs: z.number(),
  residentBytes: z.number(),
  peakBytes: z.number(),
  /** How late a timer of 1 ms fires, while it was watched. */
  delay: z.object({ p99Ms: z.number(), maxMs: z.number() }),
  /** After a garbage collection, where it was ordered: what is still in use. */
  kept: z
    .object({
      heapBytes: z.number(),
      /** Outside of the heap: buffers. */
      externalBytes: z.number(),
      /** What keeps the event loop alive, by kind: sockets, timers ... */
      handles: z.record(z.string(), z.number()),
    })
    .optional(),
});

/** What a daemon's process took. */
export type Reading = z.infer<typeof readingSchema>;

type Order = "read" | "watch" | "unwatch" | "collect";

/** A daemon in a process of its own, built and run as it is published. */
export interface DaemonProcess extends AsyncDisposable {
  readonly metricsUrl: string;
  read(order?: Order): Promise<Reading>;
  /** Waits for what only happens while it runs. */
  whileRunning<T>(work: Promise<T>): Promise<T>;
}

export interface DaemonSettings {
  /** Where the service is. */
  readonly origin: string;
  readonly regions: readonly string[];
  /** What every region lists. Default: each lists what the service has under its own name. */
  readonly listing?: string;
  readonly keys?: number;
  readonly every?: string;
  readonly perServer?: boolean;
  readonly groupWait?: string;
  /** The address of a PostgreSQL that it shares with other replicas. Default: an SQLite file of its own. */
  readonly postgres?: string;
}

/**
 * Builds the program as it is published: run from its sources, it would also take what stripping their types does.
 *
 * @returns the file to run
 */
export async function buildProgram(folder: string, sources = root): Promise<string> {
  const rolldown = join(root, "node_modules/.bin/rolldown");
  await promisify(execFile)(rolldown, ["-c", "--dir", join(folder, "dist")], { cwd: sources });
  for (const name of ["node_modules", "package.json"]) {
    symlinkSync(join(root, name), join(folder, name));
  }
  return join(folder, "dist/cli.js");
}

/** With the default settings, but no limit that a poll would wait for. Its store is in the folder. */
export async function startDaemon(
  program: string,
  folder: string,
  settings: DaemonSettings,
): Promise<DaemonProcess> {
  const port = await freePort();
  const file = join(folder, "sandwatch.yaml");
  // YAML takes JSON as it is.
  writeFileSync(file, JSON.stringify(configOf(settings, folder, port)));
  const { child, ...daemon } = spawnDaemon(program, file, "inherit");
  // As in a container: a pipe that is read.
  child.stdout?.resume();
  return {
    metricsUrl: `http://127.0.0.1:${port}/metrics`,
    ...daemon,
    async [Symbol.asyncDispose]() {
      if (hasEnded(child)) return;
      child.kill("SIGTERM");
      await once(child, "exit");
    },
  };
}

/** Its standard output is a pipe that somebody has to read. */
export function spawnDaemon(
  program: string,
  configFile: string,
  stderr: "inherit" | "pipe",
  environment: Readonly<Record<string, string>> = {},
) {
  const child = spawn(
    process.execPath,
    ["--import", meterModule, program, "run", "--config", configFile],
    { stdio: ["ignore", "pipe", stderr, "ipc"], env: { ...process.env, ...environment } },
  );
  const failing = failAtEnd(child);
  failing.catch(() => {});
  const whileRunning = <T>(work: Promise<T>): Promise<T> => Promise.race([work, failing]);
  return {
    child,
    whileRunning,
    async read(order: Order = "read"): Promise<Reading> {
      child.send(order);
      const [answer] = await whileRunning(once(child, "message"));
      return readingSchema.parse(answer);
    },
  };
}

function hasEnded({ exitCode, signalCode }: ChildProcess): boolean {
  return exitCode !== null || signalCode !== null;
}

async function failAtEnd(child: ChildProcess): Promise<never> {
  const [code, signal] = await once(child, "exit");
  throw new Error(`the daemon ended with ${String(signal ?? code)}`);
}

function configOf(settings: DaemonSettings, folder: string, port: number): object {
  const { origin, regions, listing, keys = 1, every = "1s" } = settings;
  const { perServer = true, groupWait = "1h", postgres } = settings;
  const listen = `127.0.0.1:${port}`;
  return {
    regions: Object.fromEntries(
      regions.map((name) => [name, { base_url: `${origin}/${listing ?? name}` }]),
    ),
    keys: Array.from({ length: keys }, (_, index) => ({
      name: `key-${index}`,
      api_key: `not-a-real-key-${index}`,
    })),
    poll: {
      every,
      timeout: "10m",
      rate_limit: { requests: 10_000, per: "1s" },
      max_body: "1GiB",
    },
    ...(postgres === undefined
      ? { store: { path: join(folder, "sandwatch.db") } }
      : { store: { postgres: { url: postgres } }, cluster: { address: `http://${listen}` } }),
    http: { listen },
    log: { level: "info", format: "json" },
    metrics: { per_server: perServer },
    alerts: {
      receivers: [
        { name: "oncall", type: "webhook", url: `${origin}/hook`, group_wait: groupWait },
      ],
    },
  };
}

/** A port of this machine at which nobody listens. */
export async function freePort(): Promise<number> {
  for (;;) {
    const port = randomInt(firstPort, lastPort);
    const probe = createServer().listen(port, "127.0.0.1");
    const isFree = await once(probe, "listening").then(
      () => true,
      () => false,
    );
    if (!isFree) continue;
    probe.close();
    await once(probe, "close");
    return port;
  }
}

/** Below the ports that Linux gives to anyone who asks for any, and who might get it before it is used. */
const firstPort = 20_000;
const lastPort = 32_000;
