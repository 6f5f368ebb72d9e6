import { join } from "node:path";
import { parseConfig } from "../../src/config/load-config.ts";
import { createDaemon } from "../../src/daemon.ts";
import type { Daemon } from "../../src/daemon.ts";
import { tuneMemory } from "../../src/platform/tune-memory.ts";
import { tempFolder } from "./temp-folder.ts";

export interface DaemonSettings {
  /** Where the peer serves. */
  readonly origin: string;
  readonly regions: readonly string[];
  /** What every region lists. Left out: each lists what the peer serves under its own name. */
  readonly listing?: string;
  readonly keys?: number;
  readonly every?: string;
  readonly perServer?: boolean;
  /** Whether it polls by its schedule, and not only when `runOnce` or `pollOnce` is called. */
  readonly scheduled?: boolean;
  /** Left out: a message waits for no other. */
  readonly groupWait?: string;
}

/** The daemon of the measured process, with a store in a folder of its own. */
export interface MeasuredDaemon extends AsyncDisposable {
  readonly daemon: Daemon;
  /** Of its metrics. */
  readonly url: string;
}

/** Serves from now on, and polls if so wished. */
export async function openDaemon(settings: DaemonSettings): Promise<MeasuredDaemon> {
  const folder = tempFolder();
  const parsed = parseConfig(daemonSettings(settings, folder.path));
  if (parsed.kind === "faulty") throw new Error(JSON.stringify(parsed.faults));
  tuneMemory();
  const daemon = await createDaemon(parsed.config);
  const address = await (settings.scheduled ? daemon.start() : daemon.serve());
  return {
    daemon,
    url: `${address}/metrics`,
    async [Symbol.asyncDispose]() {
      await daemon.stop();
      folder[Symbol.dispose]();
    },
  };
}

/** A configuration as its file would be: the defaults, but no limit that a poll would wait for. */
export function daemonSettings(
  settings: DaemonSettings,
  folder: string,
  listen = "127.0.0.1:0",
): object {
  const { origin, regions, listing, keys = 1, every = "7d" } = settings;
  const { perServer = true, groupWait = "0s" } = settings;
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
    store: { path: join(folder, "sandwatch.db") },
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
